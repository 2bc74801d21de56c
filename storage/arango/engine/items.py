"""What all repositories in ArangoDB do with the documents of a collection, given a transaction's query function."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from more_itertools import chunked

from memory.ports.vectors import Collection
from memory.values.base import Value

from . import queries as aql
from .documents import Document, key_of, order_of
from .transaction import ArangoTransaction, Query

V = TypeVar("V", bound=Value)

_CHUNK = 1000


def by_id(query: Query, collection: str, kind: type[V], user_id: str, ids: Sequence[str]) -> list[V]:
    """The values that exist, in the order of the ids."""
    keys = {one: key_of(user_id, one) for one in ids}
    found: dict[str, str] = {}
    for chunk in chunked(keys.values(), _CHUNK):
        found.update(query(aql.BODIES, collection=collection, keys=chunk))
    return [kind.model_validate_json(found[keys[one]]) for one in ids if keys[one] in found]


def values(kind: type[V], bodies: Iterable[str]) -> list[V]:
    """The values that these documents hold."""
    return [kind.model_validate_json(body) for body in bodies]


def known(query: Query, collection: str, keys: Iterable[str]) -> dict[str, int | None]:
    """Keys of the documents that exist, each with its place in the order of creation, where it has one."""
    found: dict[str, int | None] = {}
    for chunk in chunked(dict.fromkeys(keys), _CHUNK):
        found.update(query(aql.KNOWN, collection=collection, keys=chunk))
    return found


def page(query: Query, collection: str, *, after: str | None, limit: int) -> list[str]:
    """Bodies in the order of the ids, from the first id greater than `after`."""
    start = None if after is None else order_of(after)
    return query(aql.PAGE, collection=collection, after=start, limit=max(limit, 0))


async def count(transaction: ArangoTransaction, collection: str) -> int:
    """How many documents the user has in a collection."""
    return await transaction.read(lambda query: int(query(aql.COUNT, collection=collection)[0]))


def put(query: Query, collection: str, documents: Iterable[Document]) -> None:
    """Inserts or replaces by key; of several with one key the last counts."""
    latest = {document["_key"]: document for document in documents}
    for chunk in chunked(latest.values(), _CHUNK):
        query(aql.PUT, collection=collection, documents=chunk)


def put_in_place(transaction: ArangoTransaction, query: Query, collection: str, documents: Sequence[Document]) -> None:
    """Inserts or replaces by key; `sequence` says in which order they were first put there."""
    places = known(query, collection, (document["_key"] for document in documents))
    for document in documents:
        key = document["_key"]
        if key not in places:
            places[key] = transaction.number(query)
        document["sequence"] = places[key]
    put(query, collection, documents)


def remove(query: Query, collection: str, keys: Iterable[str]) -> int:
    """Removes documents by key; how many there were."""
    chunks = chunked(dict.fromkeys(keys), _CHUNK)
    return sum(len(query(aql.REMOVE, collection=collection, keys=chunk)) for chunk in chunks)


def delete(
    transaction: ArangoTransaction, query: Query, collection: str, indexed: Collection, ids: Iterable[str]
) -> dict[str, int | None]:
    """Removes a user's documents by id and queues those that were there; which these are, by key."""
    keys = {key_of(transaction.user_id, one): one for one in ids}
    there = known(query, collection, keys)
    remove(query, collection, there)
    queue(transaction, query, indexed, [one for key, one in keys.items() if key in there])
    return there


def queue(transaction: ArangoTransaction, query: Query, collection: Collection, item_ids: Iterable[str]) -> None:
    """Queues items for the vector index; one that waits already gets a new number."""
    put(
        query,
        "outbox",
        (
            {
                "_key": outbox_key(transaction.user_id, collection, item_id),
                "collection": collection.value,
                "item_id": item_id,
                "sequence": transaction.number(query),
            }
            for item_id in item_ids
        ),
    )


def outbox_key(user_id: str, collection: Collection, item_id: str) -> str:
    """The key of the one entry that an item has in the outbox."""
    return key_of(user_id, collection.value, item_id)
