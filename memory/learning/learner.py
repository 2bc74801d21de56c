"""The learner: raw log → entities and memories → vector index, each step repeatable (DESIGN §3.6).

What is learned and that it was learned are written in one transaction, so a crash at any point leaves either
nothing or all of it; the index follows through the outbox.
"""

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

from ..entities import Entity
from ..extraction.recognition import recognise
from ..ports.language import Encoder, Extractor, Priority
from ..ports.learning import LearnReport
from ..ports.record import SystemOfRecord
from ..ports.vectors import VectorIndex
from ..records import Resource
from ..retrieval.analysis import KeywordAnalyzer
from .indexer import Indexer
from .lessons import Lesson, save_entities, save_memories

LEARN_BATCH = 64


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
        self._indexer = Indexer(record=record, encoder=encoder, index=index, analyzer=analyzer)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def learn(self, *, user_id: str, priority: Priority = Priority.BATCH) -> LearnReport:
        """Learns and indexes all that waits for this user.

        Raises:
            Unavailable: A store or model is down; what was not done stays on the backlog.
        """
        lock = self._locks.setdefault(user_id, asyncio.Lock())
        async with lock:
            learned = await self._learn_all(user_id)
            indexed = await self._indexer.drain(user_id, priority)
        return learned.model_copy(update={"indexed": indexed})

    async def _learn_all(self, user_id: str) -> LearnReport:
        report = LearnReport()
        seen: dict[str, Entity] = {}
        while resources := await self._record.backlog.unlearned(limit=LEARN_BATCH, user_id=user_id):
            lessons = await self._study(user_id, resources)
            async with self._record.writing(user_id=user_id) as unit:
                taken = set(await unit.log.mark_learned([resource.resource_id for resource in resources]))
                lessons = [lesson for lesson in lessons if lesson.resource.resource_id in taken]
                entities, new = await save_entities(unit, user_id, lessons)
                memories = await save_memories(unit, lessons)
                await unit.commit()
            seen |= {entity.entity_id: entity for entity in entities}
            report = LearnReport(
                resources=report.resources + len(taken),
                memories=report.memories + memories,
                new_entities=report.new_entities + new,
                entities=tuple(seen.values()),
            )
        return report

    async def _study(self, user_id: str, resources: Sequence[Resource]) -> list[Lesson]:
        """Reads and extracts, before any transaction is open."""
        async with self._record.reading(user_id=user_id) as unit:
            before = [
                await unit.log.session(resource.session_id, limit=1, before=resource.sequence) for resource in resources
            ]
        texts = [resource.content for resource in resources]
        extractions = await recognise(texts, user_id=user_id, record=self._record, extractor=self._extractor)
        return [
            Lesson(resource, extraction, previous[0] if previous else None)
            for resource, extraction, previous in zip(resources, extractions, before, strict=True)
        ]
