"""Reads and writes documents of a collection, for all repositories in ArangoDB."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from more_itertools import chunked

from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.base import Value

from ...shared.stored_values import AccessedT, with_access
from . import queries as aql
from .keys import Document, key_of, order_of
from .transaction import ArangoTransaction, Query

ValueT = TypeVar("ValueT", bound=Value)

_KEYS_PER_STATEMENT = 1000


class ArangoRepository:
    """A repository of one user's documents.

    Args:
        transaction: Where its statements run.
    """

    def __init__(self, transaction: ArangoTransaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    async def _values(self, kind: type[ValueT], statement: str, /, **bind: Any) -> list[ValueT]:
        """The values of a query that returns `body`."""
        return await self._transaction.read(lambda query: parse(kind, query(statement, **bind)))

    async def _get(self, kind: type[ValueT], collection: str, ids: Sequence[str]) -> list[ValueT]:
        """The values that exist, in the order of the ids."""
        return await self._transaction.read(lambda query: by_id(query, collection, kind, self._user_id, ids))

    async def _page(self, kind: type[ValueT], collection: str, *, after: str | None, limit: int) -> list[ValueT]:
        """Values in the order of their ids, from the first id greater than `after`."""
        start = None if after is None else order_of(after)
        return await self._values(kind, aql.PAGE, collection=collection, after=start, limit=max(limit, 0))

    async def _page_behind(
        self, kind: type[ValueT], statement: str, /, *, place: str, after: str | None, limit: int
    ) -> list[ValueT]:
        """Values in the order of a time and of saving, behind the one with the id `after`; `place` finds it."""

        def work(query: Query) -> list[ValueT]:
            places = [(None, None)] if after is None else query(place, key=key_of(self._user_id, after))
            return [
                value
                for time, sequence in places
                for value in parse(kind, query(statement, time=time, sequence=sequence, limit=max(limit, 0)))
            ]

        return await self._transaction.read(work)

    async def _count(self, collection: str) -> int:
        """The number of the user's documents in a collection."""
        return await self._transaction.read(lambda query: int(query(aql.COUNT, collection=collection)[0]))


def parse(kind: type[ValueT], bodies: Iterable[str]) -> list[ValueT]:
    """The values that these documents hold."""
    return [kind.model_validate_json(body) for body in bodies]


def bodies_of(query: Query, collection: str, keys: Iterable[str]) -> dict[str, str]:
    """The `body` of each document that exists, by key."""
    bodies: dict[str, str] = {}
    for chunk in chunked(dict.fromkeys(keys), _KEYS_PER_STATEMENT):
        bodies.update(query(aql.BODIES, collection=collection, keys=chunk))
    return bodies


def by_id(query: Query, collection: str, kind: type[ValueT], user_id: str, ids: Sequence[str]) -> list[ValueT]:
    """The values that exist, in the order of the ids."""
    keys = {id_: key_of(user_id, id_) for id_ in ids}
    bodies = bodies_of(query, collection, keys.values())
    return [kind.model_validate_json(bodies[keys[id_]]) for id_ in ids if keys[id_] in bodies]


def accessed_by_id(
    query: Query, collection: str, kind: type[AccessedT], user_id: str, accesses: Sequence[Access]
) -> list[AccessedT]:
    """The values that exist, each after all its accesses."""
    accessed: dict[str, AccessedT] = {}
    for access in accesses:
        item_id = access.item_id
        value = accessed.get(item_id) or next(iter(by_id(query, collection, kind, user_id, [item_id])), None)
        if value is not None:
            accessed[item_id] = with_access(value, access)
    return list(accessed.values())


def existing(query: Query, collection: str, keys: Iterable[str]) -> dict[str, int | None]:
    """Keys of the documents that exist, each with its `sequence`, where it has one."""
    sequences: dict[str, int | None] = {}
    for chunk in chunked(dict.fromkeys(keys), _KEYS_PER_STATEMENT):
        sequences.update(query(aql.KNOWN, collection=collection, keys=chunk))
    return sequences


def put(query: Query, collection: str, documents: Iterable[Document]) -> None:
    """Inserts or replaces by key; of several with one key the last counts."""
    latest = {document["_key"]: document for document in documents}
    for chunk in chunked(latest.values(), _KEYS_PER_STATEMENT):
        query(aql.PUT, collection=collection, documents=chunk)


def put_in_sequence(
    transaction: ArangoTransaction, query: Query, collection: str, documents: Sequence[Document]
) -> None:
    """Inserts or replaces by key; `sequence` is the order in which the documents were first inserted."""
    sequences = existing(query, collection, (document["_key"] for document in documents))
    for document in documents:
        key = document["_key"]
        if key not in sequences:
            sequences[key] = transaction.next_sequence(query)
        document["sequence"] = sequences[key]
    put(query, collection, documents)


def remove(query: Query, collection: str, keys: Iterable[str]) -> int:
    """Removes documents by key; how many there were."""
    chunks = chunked(dict.fromkeys(keys), _KEYS_PER_STATEMENT)
    return sum(len(query(aql.REMOVE, collection=collection, keys=chunk)) for chunk in chunks)


def delete(
    transaction: ArangoTransaction, query: Query, collection: str, indexed: Collection, ids: Iterable[str]
) -> list[str]:
    """Removes a user's documents by id, puts those that existed on the outbox, and returns their keys."""
    keys = {key_of(transaction.user_id, id_): id_ for id_ in ids}
    sequences = existing(query, collection, keys)
    removed = [key for key in keys if key in sequences]
    remove(query, collection, removed)
    enqueue(transaction, query, indexed, [keys[key] for key in removed])
    return removed


def enqueue(transaction: ArangoTransaction, query: Query, collection: Collection, item_ids: Iterable[str]) -> None:
    """Puts items on the outbox of the vector index; an item that is on it already gets a new number."""
    put(
        query,
        "outbox",
        (
            {
                "_key": outbox_key(transaction.user_id, collection, item_id),
                "collection": collection.value,
                "item_id": item_id,
                "sequence": transaction.next_sequence(query),
            }
            for item_id in item_ids
        ),
    )


def outbox_key(user_id: str, collection: Collection, item_id: str) -> str:
    """The key of the one entry that an item has in the outbox."""
    return key_of(user_id, collection.value, item_id)
