"""Typed memories over in-memory stores, with an encoder whose cosines, and a clock whose time, a test chooses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from memory.governance.accesses import AccessTally
from memory.indexing.generations import OneSpace, PerSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.ports.stores.generations import VectorSpace
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, ScoredPoint
from memory.typed_memories.bands import FixedBand
from memory.typed_memories.manager import StoredMemory, TypedMemoryManager
from memory.typed_memories.rechecking import ConflictRecheck
from memory.values.errors import StoreUnavailable
from memory.values.typed_memories import NewTypedMemory, TypedMemory
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
DIMENSION = 64


class ChosenCosines(Encoder):
    """Gives any two texts of one family the chosen cosine; all other pairs of texts are orthogonal."""

    def __init__(self, cosine: float = 0.95) -> None:
        self.cosine = cosine
        self.topics: dict[str, int] = {}
        self.families: dict[str, str] = {}

    @property
    def model_id(self) -> str:
        return "chosen"

    @property
    def dimension(self) -> int:
        return DIMENSION

    def alike(self, *texts: str) -> None:
        """Puts texts into one family."""
        self.families.update(dict.fromkeys(texts, texts[0]))

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        vector = np.zeros(DIMENSION, np.float32)
        own = self.topics.setdefault(f"text {text}", len(self.topics) % DIMENSION)
        family = self.families.get(text)
        if family is not None:
            shared = self.topics.setdefault(f"family {family}", len(self.topics) % DIMENSION)
            vector[shared] = self.cosine**0.5
            vector[own] = (1 - self.cosine) ** 0.5
        else:
            vector[own] = 1
        return vector


class FailingIndex(InMemoryVectors):
    """An index that is unavailable while `away` is set."""

    away = False

    async def search(self, queries: Sequence[IndexQuery], *, user_id: str) -> list[list[ScoredPoint]]:
        self._check()
        return await super().search(queries, user_id=user_id)

    async def upsert(self, collection: Collection, points: Sequence[IndexPoint], *, user_id: str) -> None:
        self._check()
        await super().upsert(collection, points, user_id=user_id)

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("The index is away.", component="vectors")


@dataclass
class TypedMemories:
    """The manager with its parts, and shortcuts for tests."""

    record: InMemoryRecord = field(default_factory=InMemoryRecord)
    index: FailingIndex = field(default_factory=lambda: FailingIndex(dimension=DIMENSION))
    encoder: ChosenCosines = field(default_factory=ChosenCosines)
    analyzer: KeywordAnalyzer = field(default_factory=KeywordAnalyzer)
    now: datetime = NOW

    def __post_init__(self) -> None:
        self.tally = AccessTally(self.record, interval_s=3600)
        self.manager = TypedMemoryManager(
            record=self.record,
            encoder=self.encoder,
            index=self.index,
            analyzer=self.analyzer,
            tally=self.tally,
            now=lambda: self.now,
        )

    async def store(
        self, value: str, confidence: float = 0.5, *, type_: str = "preference", user: str = "ann", **fields: Any
    ) -> StoredMemory:
        new = NewTypedMemory(entity_type=type_, entity_value=value, confidence=confidence, **fields)
        return await self.manager.store_entity(new, user_id=user)

    async def put(self, value: str, *, user: str = "ann", type_: str = "preference", **fields: Any) -> TypedMemory:
        """Saves a memory with these fields, without conflict detection."""
        new = NewTypedMemory(entity_type=type_, entity_value=value).memory(user_id=user, at=self.now)
        memory = new.model_copy(update=fields)
        async with self.record.writing(user_id=user) as unit:
            await unit.typed_memories.save([memory])
            await unit.commit()
        return memory

    async def all(self, user: str = "ann") -> dict[str, TypedMemory]:
        async with self.record.reading(user_id=user) as unit:
            return {memory.entity_value: memory for memory in await unit.typed_memories.page(limit=99)}

    async def project(self, user: str = "ann") -> None:
        """Brings the index up to date."""
        spaces = OneSpace(encoder=self.encoder, index=self.index)
        indexer = Indexer(
            record=self.record, spaces=spaces, analyzer=self.analyzer, rechecks=PerSpace(spaces, self.recheck)
        )
        await indexer.index(user_id=user)

    def recheck(self, space: VectorSpace) -> ConflictRecheck:
        """The late conflict detection over these parts."""
        return ConflictRecheck(
            record=self.record, encoder=space.encoder, index=space.index, bands=FixedBand(), now=lambda: self.now
        )

    async def indexed(self, user: str = "ann") -> set[str]:
        stored = await self.index.stored(Collection.FACTS, user_id=user)
        points = await self.index.get(Collection.FACTS, [point.point_id for point in stored], user_id=user)
        ids = {point.point_id for point in points if point.payload["status"] == "active"}
        return {value for value, memory in (await self.all(user)).items() if memory.memory_id in ids}

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)


def said_of_allergy(value: str) -> str:
    """What an allergy is embedded as."""
    return f"The user is allergic to {value}. 使用者對{value}過敏。"
