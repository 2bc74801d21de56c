"""The learner: raw log → entities and memories → vector index, each step repeatable (DESIGN §3.6).

What is learned and that it was learned are written in one transaction, so a crash at any point leaves either
nothing or all of it; the index follows through the outbox.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from weakref import WeakValueDictionary

from ..dialogue import Role
from ..entities import Entity
from ..extraction.mentions import Extraction, Mention
from ..identity import memory_id
from ..ports.language import Encoder, Extractor, Priority, TextKind
from ..ports.learning import LearnReport
from ..ports.record import OutboxEntry, SystemOfRecord, UnitOfWork
from ..ports.vectors import Collection, IndexPoint, VectorIndex
from ..records import Memory, MemoryKind, Resource
from ..retrieval.analysis import KeywordAnalyzer
from .merging import (
    first_mention,
    known_names,
    linked,
    mention_again,
    points_back,
    remembers,
    system_entities,
)
from .projection import dense_text, entity_text, keyword_text

LEARN_BATCH = 64
INDEX_BATCH = 64
MIN_CONFIDENCE = 0.6
"""Mentions that the extractor is less sure of are used in the session but not kept."""


@dataclass(frozen=True)
class _Lesson:
    """One log entry with what was found in it; `previous` is the entry before it in its session."""

    resource: Resource
    extraction: Extraction
    previous: Resource | None

    def mentions(self) -> list[tuple[str, Mention]]:
        """What may be learned from it, by entity id: only what users say, never guesses, the assistant's or our own."""
        if self.resource.role is not Role.USER:
            return []
        return [
            (mention.entity_id, mention)
            for mention in self.extraction.mentions
            if mention.entity_id and mention.confidence >= MIN_CONFIDENCE
        ]


class Learner:
    """Learns one user's backlog at a time; several users may be learned at once."""

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        extractor: Extractor,
        encoder: Encoder,
        index: VectorIndex,
        analyzer: KeywordAnalyzer,
    ) -> None:
        self._record = record
        self._extractor = extractor
        self._encoder = encoder
        self._index = index
        self._analyzer = analyzer
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def learn(self, *, user_id: str, priority: Priority = Priority.BATCH) -> LearnReport:
        """Learns and indexes all that waits for this user.

        Raises:
            Unavailable: A store or model is down; what was not done stays on the backlog.
        """
        lock = self._locks.setdefault(user_id, asyncio.Lock())
        async with lock:
            learned = await self._learn_all(user_id)
            indexed = await self._index_all(user_id, priority)
        return learned.model_copy(update={"indexed": indexed})

    async def _learn_all(self, user_id: str) -> LearnReport:
        report = LearnReport()
        seen: dict[str, Entity] = {}
        while resources := await self._record.backlog.unlearned(limit=LEARN_BATCH, user_id=user_id):
            lessons = await self._study(user_id, resources)
            async with self._record.writing(user_id=user_id) as unit:
                taken = set(await unit.log.mark_learned([resource.resource_id for resource in resources]))
                lessons = [lesson for lesson in lessons if lesson.resource.resource_id in taken]
                entities, new = await _save_entities(unit, user_id, lessons)
                memories = await _save_memories(unit, lessons)
                await unit.commit()
            seen |= {entity.entity_id: entity for entity in entities}
            report = LearnReport(
                resources=report.resources + len(taken),
                memories=report.memories + memories,
                new_entities=report.new_entities + new,
                entities=tuple(seen.values()),
            )
        return report

    async def _study(self, user_id: str, resources: Sequence[Resource]) -> list[_Lesson]:
        """Reads and extracts, before any transaction is open."""
        async with self._record.reading(user_id=user_id) as unit:
            known = [await unit.entities.found_in(resource.content) for resource in resources]
            before = [
                await unit.log.session(resource.session_id, limit=1, before=resource.sequence) for resource in resources
            ]
        extractions = await self._extractor.extract(
            [resource.content for resource in resources], known=[known_names(entities) for entities in known]
        )
        return [
            _Lesson(resource, linked(extraction, entities, user_id=user_id), previous[0] if previous else None)
            for resource, extraction, entities, previous in zip(resources, extractions, known, before, strict=True)
        ]

    async def _index_all(self, user_id: str, priority: Priority) -> int:
        indexed = 0
        while entries := await self._record.backlog.outbox(limit=INDEX_BATCH, user_id=user_id):
            for collection, group in groupby(sorted(entries, key=_collection), key=_collection):
                batch = list(group)
                await self._index_batch(user_id, collection, batch, priority)
                await self._record.backlog.acknowledge(batch)
            indexed += len(entries)
        return indexed

    async def _index_batch(
        self, user_id: str, collection: Collection, entries: Sequence[OutboxEntry], priority: Priority
    ) -> None:
        ids = [entry.item_id for entry in entries]
        if collection is Collection.ENTITIES:
            points = await self._entity_points(user_id, ids, priority)
        else:
            points = await self._memory_points(user_id, ids, priority)
        if points:
            await self._index.upsert(collection, points, user_id=user_id)
        if gone := set(ids) - {point.point_id for point in points}:
            await self._index.delete(collection, sorted(gone), user_id=user_id)

    async def _entity_points(self, user_id: str, ids: Sequence[str], priority: Priority) -> list[IndexPoint]:
        async with self._record.reading(user_id=user_id) as unit:
            entities = [entity for entity in await unit.entities.get(ids) if entity.mention_count > 0]
        texts = [entity_text(entity) for entity in entities]
        vectors = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority) if texts else ()
        return [
            IndexPoint(
                point_id=entity.entity_id,
                dense=vector,
                sparse=self._analyzer.document_vector(text),
                created_at_s=entity.first_mentioned.timestamp(),
            )
            for entity, text, vector in zip(entities, texts, vectors, strict=True)
        ]

    async def _memory_points(self, user_id: str, ids: Sequence[str], priority: Priority) -> list[IndexPoint]:
        async with self._record.reading(user_id=user_id) as unit:
            memories = await unit.memories.get(ids)
            resources = await unit.log.get([memory.resource_id for memory in memories])
        sources = {resource.resource_id: resource for resource in resources}
        texts = [dense_text(memory, sources.get(memory.resource_id)) for memory in memories]
        vectors = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=priority) if texts else ()
        return [
            IndexPoint(
                point_id=memory.memory_id,
                dense=vector,
                sparse=self._analyzer.document_vector(keyword_text(memory, sources.get(memory.resource_id))),
                created_at_s=memory.created_at.timestamp(),
                session_id=memory.session_id,
                role=memory.role,
                metadata=memory.metadata,
            )
            for memory, vector in zip(memories, vectors, strict=True)
        ]


def _collection(entry: OutboxEntry) -> Collection:
    return entry.collection


async def _save_entities(unit: UnitOfWork, user_id: str, lessons: Sequence[_Lesson]) -> tuple[list[Entity], int]:
    """Merges every mention; returns the entities touched and how many of them are new."""
    ids = {id_ for lesson in lessons for id_, _ in lesson.mentions()}
    known = {entity.entity_id: entity for entity in await unit.entities.get(sorted(ids))}
    seeds = await _missing_seeds(unit, user_id, lessons)
    known |= {seed.entity_id: seed for seed in seeds}
    touched: dict[str, Entity] = {}
    new = 0
    for lesson in lessons:
        at, remembered = lesson.resource.created_at, remembers(lesson.extraction)
        for id_, mention in lesson.mentions():
            entity = known.get(id_)
            if entity is None:
                entity = first_mention(mention, user_id=user_id, at=at, remembered=remembered)
                new += 1
            else:
                entity = mention_again(entity, mention, at=at, remembered=remembered)
            known[id_] = touched[id_] = entity
    await unit.entities.save([*(seed for seed in seeds if seed.entity_id not in touched), *touched.values()])
    return list(touched.values()), new


async def _missing_seeds(unit: UnitOfWork, user_id: str, lessons: Sequence[_Lesson]) -> list[Entity]:
    """The preloaded entities that this user does not have yet: all of them the first time, none afterwards."""
    if not lessons:
        return []
    seeds = system_entities(user_id, at=lessons[0].resource.created_at)
    present = {entity.entity_id for entity in await unit.entities.get([seed.entity_id for seed in seeds])}
    return [seed for seed in seeds if seed.entity_id not in present]


async def _save_memories(unit: UnitOfWork, lessons: Sequence[_Lesson]) -> int:
    """Makes a memory of each entry; one that only says "remember this" marks the one before it instead."""
    memories: dict[str, Memory] = {}
    for lesson in lessons:
        if points_back(lesson.extraction) and not remembers(lesson.extraction):
            await _remember_previous(unit, lesson, memories)
            continue
        memory = Memory.from_resource(
            lesson.resource,
            context=lesson.previous.content if lesson.previous else None,
            entity_ids=tuple(dict.fromkeys(id_ for id_, _ in lesson.mentions())),
            remembered=remembers(lesson.extraction),
        )
        memories[memory.memory_id] = memory
    await unit.memories.save(list(memories.values()))
    return len(memories)


async def _remember_previous(unit: UnitOfWork, lesson: _Lesson, memories: dict[str, Memory]) -> None:
    """Marks the last thing that the session learned before this entry as remembered on request."""
    earlier = await unit.log.session(lesson.resource.session_id, limit=4, before=lesson.resource.sequence)
    for resource in reversed(earlier):
        if not resource.learn:
            continue
        id_ = memory_id(resource.user_id, resource.resource_id)
        stored = [memories[id_]] if id_ in memories else await unit.memories.get([id_])
        if stored:
            memories[id_] = stored[0].model_copy(update={"kind": MemoryKind.REMEMBERED, "confidence": 1.0})
            return
