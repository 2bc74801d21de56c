"""Stores with something of several users, and parts that can be away."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from memory.erasure.eraser import Eraser
from memory.erasure.requests import Digests
from memory.erasure.service import Erasing
from memory.erasure.tombstones import TombstoneFile
from memory.ports.erasures import ReplicaMemory
from memory.ports.stores.generations import VectorModel
from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.errors import StoreUnavailable, Unavailable
from memory.values.ids import derive_id
from memory.values.records import Resource
from memory.values.understanding.dialogue import Role, Turn
from memory.values.vectors import SparseVector
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions
from storage.inmemory.vectors import InMemoryGenerations

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = VectorModel(model_id="m", dimension=2)
OLD_MODEL = VectorModel(model_id="old", dimension=2)


class Replicas(ReplicaMemory):
    """Remembers whom it forgot."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []
        self.away = False

    async def forget(self, user_id: str) -> None:
        if self.away:
            raise Unavailable("It is away.", component="ingress")
        self.forgotten.append(user_id)


class Sessions(InMemorySessions):
    """Sessions that can be away."""

    away = False

    async def clear_user(self, user_id: str) -> int:
        if self.away:
            raise StoreUnavailable("It is away.", component="sessions")
        return await super().clear_user(user_id)


class Vectors(InMemoryGenerations):
    """Vectors that can be away."""

    away = False

    async def erase_user(self, user_id: str) -> int:
        self._check()
        return await super().erase_user(user_id)

    async def erase_points(self, point_ids: Sequence[str], *, user_id: str) -> int:
        self._check()
        return await super().erase_points(point_ids, user_id=user_id)

    async def purge(self) -> bool:
        self._check()
        return await super().purge()

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("It is away.", component="vectors")


class Stores:
    """All stores, and erasures over them."""

    def __init__(self) -> None:
        self.record = InMemoryRecord()
        self.sessions = Sessions()
        self.vectors = Vectors()
        self.replicas = Replicas()
        self.journal: InMemoryRecord | None = None
        self.now = NOW
        self._locks: dict[str, asyncio.Lock] = {}

    def erasing(self, *, settle_s: float = 0.0, file: TombstoneFile | None = None, key: bytes = b"k" * 32) -> Erasing:
        """A service over these stores, as if it had just started; it works only when told."""
        eraser = Eraser(
            record=self.record,
            sessions=self.sessions,
            vectors=self.vectors,
            replicas=self.replicas,
            journal=self.journal,
            lock=lambda user_id: self._locks.setdefault(user_id, asyncio.Lock()),
        )
        return Erasing(
            record=self.record,
            eraser=eraser,
            digests=Digests(key),
            file=file,
            settle_s=settle_s,
            retry_s=0.005,
            now=self._clock,
        )

    async def fill(self, user_id: str, *, texts: int = 2) -> None:
        """Puts something of a user into every store."""
        resources = [self.resource(user_id, f"r{number}") for number in range(texts)]
        await self.record.append(resources, user_id=user_id)
        await self.sessions.append(
            "s", user_id=user_id, turns=[Turn(role=Role.USER, content=f"secret of {user_id}", created_at=NOW)]
        )
        for model in (MODEL, OLD_MODEL):
            await self.vectors.index(model).upsert(Collection.MEMORIES, [self.point(user_id)], user_id=user_id)

    async def held(self, user_id: str) -> Mapping[str, int]:
        """How much each store holds of a user."""
        async with self.record.reading(user_id=user_id) as unit:
            resources = await unit.log.count()
        session = await self.sessions.load("s", user_id=user_id)
        points = [
            await self.vectors.index(model).count(Collection.MEMORIES, user_id=user_id) for model in (MODEL, OLD_MODEL)
        ]
        return {"record": resources, "sessions": len(session.turns), "vectors": sum(points)}

    def resource(self, user_id: str, name: str, **fields: object) -> Resource:
        given = {"session_id": "s", "content": f"secret of {user_id}: {name}", "created_at": NOW} | fields
        return Resource.model_validate({"resource_id": name, "user_id": user_id, **given})

    def point(self, user_id: str) -> IndexPoint:
        dense = np.asarray([1, 0], dtype=np.float32)
        return IndexPoint(derive_id("test", user_id), dense, SparseVector((1,), (1.0,)), NOW.timestamp())

    def _clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


NOTHING = {"record": 0, "sessions": 0, "vectors": 0}
