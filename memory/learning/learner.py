"""The learner: raw log → entities and memories → vector index, each step repeatable (DESIGN §3.6).

What is learned and that it was learned are written in one transaction, so a crash at any point leaves either
nothing or all of it; the index follows through the outbox.
"""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from weakref import WeakValueDictionary

from ..extraction.recognition import recognise
from ..indexing.indexer import Indexer
from ..indexing.lost_index import requeue_lost
from ..indexing.projection import has_same_vector
from ..indexing.sources import Projections, project_items
from ..indexing.spaces import PerSpace
from ..language.keywords import KeywordAnalyzer
from ..ports.generations import EmbeddedItem, VectorSpace, VectorSpaces
from ..ports.language import Extractor, Priority
from ..ports.learning import LearnReport
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection
from ..typed_memories.rechecking import ConflictRecheck
from ..values.entities import Entity
from ..values.errors import StoreUnavailable
from ..values.records import Resource
from .learned_turns import Lesson
from .learning import learn_from

LEARN_BATCH = 64


class Learner:
    """Learns one user's backlog at a time; several users may be learned at once.

    Args:
        record: Holds the backlog.
        extractor: Finds names in turns.
        spaces: Where vectors go.
        analyzer: Makes terms of texts.
        rechecks: See `Indexer`.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        extractor: Extractor,
        spaces: VectorSpaces,
        analyzer: KeywordAnalyzer,
        rechecks: PerSpace[ConflictRecheck] | None = None,
    ) -> None:
        self._record = record
        self._extractor = extractor
        self._spaces = spaces
        self._indexer = Indexer(record=record, spaces=spaces, analyzer=analyzer, rechecks=rechecks)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._looking = asyncio.Lock()
        self._looked_at: VectorSpace | None = None
        self.requeued = 0

    async def learn(
        self, *, user_id: str, priority: Priority = Priority.BATCH, batches: int | None = None, index: bool = True
    ) -> LearnReport:
        """Learns and indexes what waits for this user: all of it, or so many batches of each at most.

        Args:
            user_id: Whose turns.
            priority: How the encoder should take them.
            batches: How many batches of each at most; all where it is not given.
            index: False leaves what is learned in the outbox, for somebody else to index.

        Raises:
            Unavailable: A store or model is down; what was not done stays on the backlog.
        """
        async with self.holding(user_id):
            learned = await self._learn(user_id, batches)
            indexed = await self._project(user_id, priority, batches=batches) if index else 0
        return learned.model_copy(update={"indexed": indexed})

    async def settle(self, *, user_id: str) -> int:
        """Indexes what waits for this user and needs no encoding; returns how many items that was.

        Raises:
            Unavailable: See `learn`.
        """
        async with self.holding(user_id):
            await self.look_for_loss()
            with self._looking_again():
                return await self._indexer.settle(user_id)

    async def look_for_loss(self) -> None:
        """Queues what the live index has lost; looks once, and again after an outage or a change of it.

        Nothing is indexed before it.

        Raises:
            Unavailable: A store is down.
        """
        async with self._looking:
            space = await self._spaces.live()
            if self._looked_at is not space:
                self.requeued += await requeue_lost(self._record, space)
                self._looked_at = space

    def holding(self, user_id: str) -> asyncio.Lock:
        """Held while this user is learned and indexed: whoever else holds it sees an index that does not move."""
        return self._locks.setdefault(user_id, asyncio.Lock())

    async def project_anew(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        """Makes the index's points of these items again, vectors included; takes out those that should not be there.

        They go over the outbox, so that what is not done when this is interrupted is done later.

        Raises:
            Unavailable: See `learn`.
        """
        async with self.holding(user_id):
            await self._record.backlog.requeue(collection, item_ids, user_id=user_id)
            await self._project(user_id, Priority.BATCH, anew=True)

    async def write_embedded(
        self, space: VectorSpace, collection: Collection, items: Sequence[EmbeddedItem], *, user_id: str
    ) -> int:
        """Writes vectors that were made a while ago to one space, of items that still read as they did then.

        It does not wait for the user's turn, which may be as long as the encoder is away. So the items are looked at
        again afterwards: one that has changed or gone since they were read goes on the outbox once more, because it may
        have been indexed between; one that changes later is on the outbox already.

        Returns:
            How many were written.

        Raises:
            StoreUnavailable: A store is down; it can be repeated.
        """
        await self.look_for_loss()
        made = {item.item_id: item for item in items}
        fresh = {
            id_: item
            for id_, item in (await self._read(collection, [*made], user_id)).items()
            if item and has_same_vector(item.fingerprint(space.encoder.model_id), made[id_].fingerprint)
        }
        vectors = {id_: made[id_].vector for id_ in fresh}
        with self._looking_again():
            await self._indexer.write(space, collection, [*fresh.values()], vectors, user_id=user_id)
        now = await self._read(collection, [*fresh], user_id)
        if moved := [id_ for id_, item in fresh.items() if now.get(id_) != item]:
            await self._record.backlog.requeue(collection, moved, user_id=user_id)
        return len(fresh)

    async def _read(self, collection: Collection, item_ids: Sequence[str], user_id: str) -> Projections:
        async with self._record.reading(user_id=user_id) as unit:
            return await project_items(unit, collection, item_ids)

    async def _project(
        self, user_id: str, priority: Priority, *, batches: int | None = None, anew: bool = False
    ) -> int:
        await self.look_for_loss()
        with self._looking_again():
            return await self._indexer.drain(user_id, priority, batches=batches, anew=anew)

    @contextmanager
    def _looking_again(self) -> Iterator[None]:
        """Has a loss looked for once more after an outage: who knows how the index comes back."""
        try:
            yield
        except StoreUnavailable:
            self._looked_at = None
            raise

    async def _learn(self, user_id: str, batches: int | None) -> LearnReport:
        report = LearnReport()
        seen: dict[str, Entity] = {}
        for _ in itertools.count() if batches is None else range(batches):
            resources = await self._record.backlog.unlearned(limit=LEARN_BATCH, user_id=user_id)
            if not resources:
                break
            lessons = await self._study(user_id, resources)
            async with self._record.writing(user_id=user_id) as unit:
                taken = set(await unit.log.mark_learned([resource.resource_id for resource in resources]))
                lessons = [lesson for lesson in lessons if lesson.resource.resource_id in taken]
                learned = await learn_from(unit, user_id, lessons)
                await unit.commit()
            seen |= {entity.entity_id: entity for entity in learned.entities}
            report = LearnReport(
                resources=report.resources + len(taken),
                memories=report.memories + learned.memories,
                new_entities=report.new_entities + learned.new_entities,
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
