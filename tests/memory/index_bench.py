"""A record, an index and a learner over them, with an encoder that remembers what it read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace, PerSpace
from memory.indexing.indexer import Indexer
from memory.indexing.verification import IndexVerifier
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.ports.jobs import CollectionReport, IndexReport
from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.ports.stores.generations import BulkEmbedder, VectorSpace
from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.facts import Fact, FactStatus
from memory.values.records import Resource
from memory.values.typed_memories import NewTypedMemory
from models.encoder.batched_encoder import BatchedEncoder
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.reader import FakeReader
from tests.memory.indexing.bulk import WalkingEmbedder

DIMENSION = 32
AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class ListeningEncoder(Encoder):
    """Encodes with another encoder and records the texts."""

    def __init__(self, encoder: BatchedEncoder) -> None:
        self._encoder = encoder
        self.texts_read: list[str] = []

    @property
    def model_id(self) -> str:
        return self._encoder.model_id

    @property
    def dimension(self) -> int:
        return self._encoder.dimension

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        self.texts_read += texts
        return await self._encoder.encode(texts, kind=kind, priority=priority)


@dataclass
class Bench:
    """The parts, and what tests do with them most."""

    record: InMemoryRecord
    index: InMemoryVectors
    encoder: ListeningEncoder
    embedder: BulkEmbedder = field(init=False)
    learner: Learner = field(init=False)
    spaces: OneSpace = field(init=False)
    verifiers: PerSpace[IndexVerifier] = field(init=False)
    verifier: IndexVerifier = field(init=False)
    turn_count: int = 0

    def __post_init__(self) -> None:
        self.embedder = WalkingEmbedder(self.record, lambda _: self.encoder, batch=2)
        self.start()

    def start(self) -> None:
        """Restarts the process: makes a new learner over the same stores."""
        self.spaces = OneSpace(encoder=self.encoder, index=self.index)
        self.learner = Learner(
            record=self.record,
            extractor=ReadingExtractor(FakeReader()),
            indexer=Indexer(record=self.record, spaces=self.spaces, analyzer=KeywordAnalyzer()),
        )
        self.verifiers = PerSpace(
            self.spaces,
            lambda space: IndexVerifier(record=self.record, space=space, indexer=self.learner.indexer, retry_s=0),
        )
        self.verifier = self.verifiers.of(VectorSpace(self.encoder, self.index))

    async def log(self, *texts: str, user: str = "ann") -> None:
        """Appends turns to the raw log; they are not learned yet."""
        resources = []
        for text in texts:
            self.turn_count += 1
            at = AT + timedelta(minutes=self.turn_count)
            id_ = f"{user}-{self.turn_count}"
            resources.append(Resource(resource_id=id_, user_id=user, session_id="s", content=text, created_at=at))
        await self.record.append(resources, user_id=user)

    async def say(self, *texts: str, user: str = "ann") -> None:
        """Appends turns, learned and indexed."""
        await self.log(*texts, user=user)
        await self.learner.learn(user_id=user)

    async def store_typed(self, entity_type: str, entity_value: str, *, user: str = "ann") -> None:
        """Stores a typed memory without indexing it."""
        memory = NewTypedMemory(entity_type=entity_type, entity_value=entity_value).memory(user_id=user, at=AT)
        async with self.record.writing(user_id=user) as unit:
            await unit.typed_memories.save([memory])
            await unit.commit()

    async def state_fact(
        self, fact_id: str, object_: str, *, status: FactStatus = FactStatus.ACTIVE, user: str = "ann"
    ) -> None:
        """Stores a fact without indexing it."""
        fact = Fact(
            fact_id=fact_id,
            user_id=user,
            resource_id="r",
            subject="Ann",
            predicate="likes",
            object=object_,
            category="taste",
            status=status,
            recorded_at=AT,
            updated_at=AT,
        )
        async with self.record.writing(user_id=user) as unit:
            await unit.facts.create_many([fact])
            await unit.commit()

    async def contents(self, user: str = "ann") -> dict[Collection, dict[str, IndexPoint]]:
        """Returns all points of a user by collection and id."""
        contents = {}
        for collection in Collection:
            ids = [point.point_id for point in await self.index.stored(collection, user_id=user)]
            points = await self.index.get(collection, ids, user_id=user)
            contents[collection] = {point.point_id: point for point in points}
        return contents

    async def verify(self, *, mend: bool = False) -> IndexReport:
        """Verifies the index and returns the last report."""
        return [report async for report in self.verifier.verify(mend=mend)][-1]

    async def rebuild(self) -> IndexReport:
        """Rebuilds the index and returns the last report."""
        return [report async for report in self.verifier.rebuild(self.embedder)][-1]


def total(report: IndexReport, name: str) -> int:
    """Sums one count of a report over all collections."""
    return sum(getattr(part, name) for part in report.collections.values())


def counts_of(report: IndexReport, collection: Collection) -> CollectionReport:
    """Returns the counts of one collection."""
    return report.collections[collection]
