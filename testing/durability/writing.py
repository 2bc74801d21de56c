"""The writes: one code for the stores that are killed and for the model that says what must be there."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import numpy as np

from memory.ports.stores.record import OutboxEntry, SystemOfRecord, UnitOfWork
from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.entities import Entity, EntityRelation
from memory.values.facts import Fact
from memory.values.ids import derive_id, memory_id
from memory.values.records import Memory, Resource
from memory.values.text import normalise
from memory.values.vectors import SparseVector

from .plans import Op, Step

DIMENSION = 4
MODEL = "durability"
INDEX_BATCH = 64
_START = datetime(2026, 3, 1, tzinfo=UTC)

Item = Entity | Memory | Fact
Upsert = Callable[[Collection, Sequence[IndexPoint], str], Awaitable[None]]


def user_name(number: int) -> str:
    """The user of the `number`-th sequence."""
    return f"user-{number}"


async def perform(step: Step, place: int, *, user_id: str, record: SystemOfRecord, upsert: Upsert) -> None:
    """Does one write; it may be repeated when it was not acknowledged.

    Args:
        step: What to write.
        place: Its place in the user's sequence, from which ids and texts are made.
        user_id: Whose sequence it is.
        record: Where it is written.
        upsert: How points reach the index.
    """
    if step.op is Op.APPEND:
        await record.append(
            [_resource(user_id, place, number, step.padding) for number in range(step.items)], user_id=user_id
        )
    elif step.op is Op.INDEX:
        await index_batch(user_id=user_id, record=record, upsert=upsert)
    else:
        waiting = await record.backlog.unlearned(limit=step.items, user_id=user_id) if step.op is Op.LEARN else []
        async with record.writing(user_id=user_id) as unit:
            await _UNITS[step.op](unit, user_id, place, step, waiting)
            await unit.commit()


async def index_batch(*, user_id: str, record: SystemOfRecord, upsert: Upsert) -> int:
    """Projects up to 64 of the items that wait, as the indexer does; returns how many those were."""
    entries = await record.backlog.outbox(limit=INDEX_BATCH, user_id=user_id)
    for collection in Collection:
        group = [entry for entry in entries if entry.collection is collection]
        if group:
            await upsert(collection, await _points(record, user_id, collection, group), user_id)
            await record.backlog.acknowledge(group)
    return len(entries)


def projected(item: Item) -> IndexPoint:
    """An item as a point, with a fingerprint of all that it says."""
    digest = blake2b(item.model_dump_json().encode(), digest_size=16).digest()
    dense = np.frombuffer(digest, dtype=np.uint8)[:DIMENSION].astype(np.float32) + 1
    return IndexPoint(
        point_id=item_id(item),
        dense=dense / np.linalg.norm(dense),
        sparse=SparseVector((int(digest[0]),), (1.0,)),
        created_at_s=_START.timestamp(),
        fingerprint=digest.hex(),
    )


def item_id(item: Item) -> str:
    """The id under which an item is indexed."""
    if isinstance(item, Entity):
        return item.entity_id
    return item.memory_id if isinstance(item, Memory) else item.fact_id


async def _points(
    record: SystemOfRecord, user_id: str, collection: Collection, entries: Sequence[OutboxEntry]
) -> list[IndexPoint]:
    ids = [entry.item_id for entry in entries]
    async with record.reading(user_id=user_id) as unit:
        if collection is Collection.ENTITIES:
            return [projected(item) for item in await unit.entities.get(ids)]
        if collection is Collection.MEMORIES:
            return [projected(item) for item in await unit.memories.get(ids)]
        return [projected(item) for item in await unit.facts.get_many(ids)]


async def _entities(
    unit: UnitOfWork, user_id: str, place: int, step: Step, waiting: Sequence[Resource]
) -> list[Entity]:
    entities = [_entity(user_id, place, number) for number in range(step.items + 1)]
    await unit.entities.save(entities)
    return entities


async def _memories(unit: UnitOfWork, user_id: str, place: int, step: Step, waiting: Sequence[Resource]) -> None:
    await unit.memories.save([Memory.from_resource(entry) for entry in _resources(user_id, place, step)])


async def _facts(unit: UnitOfWork, user_id: str, place: int, step: Step, waiting: Sequence[Resource]) -> None:
    await unit.facts.create_many([_fact(user_id, place, number) for number in range(step.items)])


async def _relate(unit: UnitOfWork, user_id: str, place: int, step: Step, waiting: Sequence[Resource]) -> None:
    entities = await _entities(unit, user_id, place, step, waiting)
    pairs = itertools.pairwise(entities)
    await unit.relations.store([_relation(source, target, place) for source, target in pairs])


async def _learn(unit: UnitOfWork, user_id: str, place: int, step: Step, waiting: Sequence[Resource]) -> None:
    """Counts a mention for each entry that it is the first to take: twice taken would be counted twice."""
    taken = set(await unit.log.mark_learned([entry.resource_id for entry in waiting]))
    if not taken:
        return
    known = _entity(user_id, 0, -1)
    if not await unit.entities.get([known.entity_id]):
        await unit.entities.save([known])
    for entry in waiting:
        if entry.resource_id in taken:
            await unit.entities.update_mention(known.entity_id, at=entry.created_at)
    await unit.memories.save([Memory.from_resource(entry) for entry in waiting if entry.resource_id in taken])


_UNITS: dict[Op, Callable[[UnitOfWork, str, int, Step, Sequence[Resource]], Awaitable[object]]] = {
    Op.ENTITIES: _entities,
    Op.MEMORIES: _memories,
    Op.FACTS: _facts,
    Op.RELATE: _relate,
    Op.LEARN: _learn,
}


def _at(place: int, number: int) -> datetime:
    return _START + timedelta(minutes=place, seconds=number)


def _resources(user_id: str, place: int, step: Step) -> list[Resource]:
    return [_resource(user_id, place, number, step.padding) for number in range(step.items)]


def _resource(user_id: str, place: int, number: int, padding: int) -> Resource:
    return Resource(
        resource_id=derive_id("resource", user_id, f"{place}.{number}"),
        user_id=user_id,
        session_id="session",
        content=f"第 {place} 步的第 {number} 句話, sentence {number} of step {place}{'.' * padding}",
        created_at=_at(place, number),
    )


def _entity(user_id: str, place: int, number: int) -> Entity:
    value = f"實體 {place}-{number}"
    return Entity(
        entity_id=derive_id("entity", user_id, value),
        user_id=user_id,
        entity_value=value,
        normalised_value=normalise(value),
        first_mentioned=_at(place, number),
        last_mentioned=_at(place, number),
        mention_count=1,
    )


def _fact(user_id: str, place: int, number: int) -> Fact:
    entry = memory_id(user_id, f"{place}.{number}")
    return Fact(
        fact_id=derive_id("fact", user_id, entry),
        user_id=user_id,
        resource_id=entry,
        subject=f"subject {place}",
        predicate="likes",
        object=f"茶 {number}",
        category="preferences",
        recorded_at=_at(place, number),
        updated_at=_at(place, number),
    )


def _relation(source: Entity, target: Entity, place: int) -> EntityRelation:
    return EntityRelation(
        relation_id=derive_id("relation", source.user_id, source.entity_id, target.entity_id),
        user_id=source.user_id,
        source_entity_id=source.entity_id,
        target_entity_id=target.entity_id,
        relation_type="beside",
        created_at=_at(place, 0),
        updated_at=_at(place, 0),
    )
