"""Reads the indexed items of the record in pages, in a fixed order, from any cursor (DESIGN §8)."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from more_itertools import chunked

from ..ports.stores.generations import Selection
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.vectors import Collection
from ..values.documents.corpora import Knowledge
from ..values.records import Memory
from .projection import Projection, project_entity, project_fact, project_knowledge, project_memory

Projections = dict[str, Projection | None]
"""Existing items by id, in the order of reading; None for one that is not indexed."""

COUNTED_AS = {
    Collection.ENTITIES: "entities",
    Collection.MEMORIES: "memories",
    Collection.FACTS: "facts",
    Collection.KNOWLEDGE: "knowledge",
}
"""Keys of the collections in `Backlog.counts`."""

_USERS_A_PAGE = 256
ITEMS_A_PAGE = 256
WHOLE_OUTBOX = 2**31 - 1


async def count_items(record: SystemOfRecord) -> int:
    """The number of items of all users, including those that are not indexed."""
    counts = await record.backlog.counts()
    return sum(counts[name] for name in COUNTED_AS.values())


async def project_items(unit: UnitOfWork, collection: Collection, item_ids: Sequence[str]) -> Projections:
    """The projections of the existing items with these ids."""
    match collection:
        case Collection.ENTITIES:
            return {entity.entity_id: project_entity(entity) for entity in await unit.entities.get(item_ids)}
        case Collection.MEMORIES:
            return await _memories(unit, await unit.memories.get(item_ids))
        case Collection.FACTS:
            return {fact.fact_id: project_fact(fact) for fact in await unit.facts.get_many(item_ids)}
        case Collection.KNOWLEDGE:
            return await _knowledge(unit, await unit.knowledge.get(item_ids))


async def project_page(unit: UnitOfWork, collection: Collection, *, after: str | None, limit: int) -> Projections:
    """The next projections in the order of their ids, from the first id greater than `after`."""
    match collection:
        case Collection.ENTITIES:
            entities = await unit.entities.page(after=after, limit=limit)
            return {entity.entity_id: project_entity(entity) for entity in entities}
        case Collection.MEMORIES:
            return await _memories(unit, await unit.memories.page(after=after, limit=limit))
        case Collection.FACTS:
            return {fact.fact_id: project_fact(fact) for fact in await unit.facts.page(after=after, limit=limit)}
        case Collection.KNOWLEDGE:
            return await _knowledge(unit, await unit.knowledge.page(after=after, limit=limit))


async def projected_pages(
    record: SystemOfRecord, user_id: str, collection: Collection, *, after: str | None = None
) -> AsyncIterator[Projections]:
    """A user's items with ids greater than `after`, in non-empty pages."""
    while True:
        async with record.reading(user_id=user_id) as unit:
            page = await project_page(unit, collection, after=after, limit=ITEMS_A_PAGE)
        if not page:
            return
        yield page
        after = next(reversed(page))


async def waiting_ids(record: SystemOfRecord, user_id: str, collection: Collection) -> set[str]:
    """Ids of a user's items that are in the outbox: the indexer writes these anyway."""
    entries = await record.backlog.outbox(limit=WHOLE_OUTBOX, user_id=user_id)
    return {entry.item_id for entry in entries if entry.collection is collection}


async def all_users(record: SystemOfRecord, *, after: str | None = None) -> AsyncIterator[str]:
    """All users of the record, sorted, from the first greater than `after`."""
    while users := await record.backlog.users(after=after, limit=_USERS_A_PAGE):
        for user_id in users:
            yield user_id
        after = users[-1]


@dataclass(frozen=True)
class Position:
    """The position of an item in the order of user ids, collections and item ids."""

    user_id: str
    collection: Collection
    item_id: str

    def to_cursor(self) -> str:
        """The position as an ASCII string."""
        return json.dumps([self.user_id, self.collection.value, self.item_id])

    @classmethod
    def from_cursor(cls, cursor: str) -> "Position":
        """The position of a cursor."""
        user_id, collection, item_id = json.loads(cursor)
        return cls(user_id, Collection(collection), item_id)


@dataclass(frozen=True)
class Page:
    """Indexed items of one user's collection; not empty."""

    user_id: str
    collection: Collection
    items: tuple[Projection, ...]


def walk_selected(record: SystemOfRecord, selection: Selection, *, after: str | None = None) -> AsyncIterator[Page]:
    """All pages of a selection, or those after a cursor.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    if selection.waiting is None:
        return walk(record, after=after, collections=selection.collections)
    return _walk_waiting(record, selection.waiting, selection.collections, after=after)


async def walk(
    record: SystemOfRecord, *, after: str | None = None, collections: Sequence[Collection] = tuple(Collection)
) -> AsyncIterator[Page]:
    """All pages of these collections, or those after a cursor.

    An item that is added, changed or deleted meanwhile may be missing: it is in the outbox.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    begin = None if after is None else Position.from_cursor(after)
    if begin is not None:
        passed = False
        for collection in collections:
            if passed or collection is begin.collection:
                async for page in _pages(record, begin.user_id, collection, None if passed else begin.item_id):
                    yield page
                passed = True
    async for user_id in all_users(record, after=begin.user_id if begin else None):
        for collection in collections:
            async for page in _pages(record, user_id, collection, None):
                yield page


async def _pages(
    record: SystemOfRecord, user_id: str, collection: Collection, after: str | None
) -> AsyncIterator[Page]:
    async for page in projected_pages(record, user_id, collection, after=after):
        if items := _indexable(page):
            yield Page(user_id, collection, items)


async def _walk_waiting(
    record: SystemOfRecord, limit: int, collections: Sequence[Collection], *, after: str | None
) -> AsyncIterator[Page]:
    places = {collection: place for place, collection in enumerate(Collection)}

    def order(position: Position) -> tuple[str, int, str]:
        return position.user_id, places[position.collection], position.item_id

    entries = await record.backlog.outbox(limit=limit)
    waiting = [
        Position(entry.user_id, entry.collection, entry.item_id) for entry in entries if entry.collection in collections
    ]
    if after is not None:
        begin = order(Position.from_cursor(after))
        waiting = [position for position in waiting if order(position) > begin]
    for (user_id, collection), group in groupby(
        sorted(waiting, key=order), key=lambda position: (position.user_id, position.collection)
    ):
        for item_ids in chunked([position.item_id for position in group], ITEMS_A_PAGE):
            async with record.reading(user_id=user_id) as unit:
                found = await project_items(unit, collection, item_ids)
            if items := _indexable({item_id: found[item_id] for item_id in item_ids if item_id in found}):
                yield Page(user_id, collection, items)


def _indexable(page: Projections) -> tuple[Projection, ...]:
    return tuple(item for item in page.values() if item is not None)


async def _memories(unit: UnitOfWork, memories: Sequence[Memory]) -> Projections:
    resources = await unit.log.get([memory.resource_id for memory in memories])
    sources = {resource.resource_id: resource for resource in resources}
    return {memory.memory_id: project_memory(memory, sources.get(memory.resource_id)) for memory in memories}


async def _knowledge(unit: UnitOfWork, chunks: Sequence[Knowledge]) -> Projections:
    sources = await unit.sources.get([*dict.fromkeys(chunk.source_id for chunk in chunks)])
    by_id = {source.source_id: source for source in sources}
    return {chunk.knowledge_id: project_knowledge(chunk, by_id.get(chunk.source_id)) for chunk in chunks}
