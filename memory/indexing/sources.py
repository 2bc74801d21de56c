"""Reads what the vector index is a projection of, the same way for every collection."""

from collections.abc import AsyncIterator, Sequence

from ..ports.record import SystemOfRecord, UnitOfWork
from ..ports.vectors import Collection
from ..values.records import Memory
from .projection import Projection, project_entity, project_fact, project_memory, project_typed_memory

Projections = dict[str, Projection | None]
"""Items that exist, by id, in the order in which they were read; None for one that does not belong in the index."""

COUNTED_AS = {
    Collection.ENTITIES: "entities",
    Collection.MEMORIES: "memories",
    Collection.FACTS: "facts",
    Collection.TYPED_MEMORIES: "aam_memories",
}
"""What `Backlog.counts` calls the items of a collection."""

_USERS_A_PAGE = 256
ITEMS_A_PAGE = 256
WHOLE_OUTBOX = 2**31 - 1


async def count_items(record: SystemOfRecord) -> int:
    """How many items of everybody there are, those that do not belong in the index included."""
    counts = await record.backlog.counts()
    return sum(counts[name] for name in COUNTED_AS.values())


async def project_items(unit: UnitOfWork, collection: Collection, item_ids: Sequence[str]) -> Projections:
    """The items of these ids that exist."""
    match collection:
        case Collection.ENTITIES:
            return {entity.entity_id: project_entity(entity) for entity in await unit.entities.get(item_ids)}
        case Collection.MEMORIES:
            return await _memories(unit, await unit.memories.get(item_ids))
        case Collection.FACTS:
            return {fact.fact_id: project_fact(fact) for fact in await unit.facts.get_many(item_ids)}
        case Collection.TYPED_MEMORIES:
            return {
                memory.memory_id: project_typed_memory(memory) for memory in await unit.typed_memories.get(item_ids)
            }


async def project_page(unit: UnitOfWork, collection: Collection, *, after: str | None, limit: int) -> Projections:
    """The next items in the order of their ids, from the first id greater than `after`."""
    match collection:
        case Collection.ENTITIES:
            entities = await unit.entities.page(after=after, limit=limit)
            return {entity.entity_id: project_entity(entity) for entity in entities}
        case Collection.MEMORIES:
            return await _memories(unit, await unit.memories.page(after=after, limit=limit))
        case Collection.FACTS:
            return {fact.fact_id: project_fact(fact) for fact in await unit.facts.page(after=after, limit=limit)}
        case Collection.TYPED_MEMORIES:
            return {
                memory.memory_id: project_typed_memory(memory)
                for memory in await unit.typed_memories.page(after=after, limit=limit)
            }


async def project_all(
    record: SystemOfRecord, user_id: str, collection: Collection, *, after: str | None = None
) -> AsyncIterator[Projections]:
    """All items of a user, or those with ids greater than `after`, page by page; no page is empty."""
    while True:
        async with record.reading(user_id=user_id) as unit:
            page = await project_page(unit, collection, after=after, limit=ITEMS_A_PAGE)
        if not page:
            return
        yield page
        after = next(reversed(page))


async def waiting(record: SystemOfRecord, user_id: str, collection: Collection) -> set[str]:
    """Ids of a user's items that are in the outbox: the index is about to hear of them anyway."""
    entries = await record.backlog.outbox(limit=WHOLE_OUTBOX, user_id=user_id)
    return {entry.item_id for entry in entries if entry.collection is collection}


async def all_users(record: SystemOfRecord, *, after: str | None = None) -> AsyncIterator[str]:
    """Everybody whom the record knows, sorted, from the first greater than `after`."""
    while users := await record.backlog.users(after=after, limit=_USERS_A_PAGE):
        for user_id in users:
            yield user_id
        after = users[-1]


async def _memories(unit: UnitOfWork, memories: Sequence[Memory]) -> Projections:
    resources = await unit.log.get([memory.resource_id for memory in memories])
    sources = {resource.resource_id: resource for resource in resources}
    return {memory.memory_id: project_memory(memory, sources.get(memory.resource_id)) for memory in memories}
