"""What encryption at rest costs: the stores' part of a chat turn, with a key and without, in turns in one run.

Theory. SQLCipher decrypts a page that is read from disk and not from SQLite's cache, and encrypts a page that is
written to the log: 4 KiB of AES-256 (1 GB/s a core or more) and HMAC-SHA512 (0.5 GB/s) are 12 µs a page. A turn writes
some ten pages and waits for the disk once (a millisecond or more), so an append is predicted to take 1.0 to 1.3 times
as long, and reads from the cache 1.0. A value of a session or a payload costs a call of AES-SIV, 5 µs in Python, and a
session has 20 turns and 10 resolutions at most: loading one is predicted to take 1.3 to 2 times as long (0.2 ms more),
searches 1.0 to 1.1. The turn, which takes 100 ms or more in the reader, changes by less than 1%.

    python -m benchmarks.encryption [--rounds 300]

The last line is JSON.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery
from memory.values.base import utc_now
from memory.values.entities import Entity
from memory.values.ids import derive_id
from memory.values.records import Resource
from memory.values.text import normalise
from memory.values.understanding.dialogue import Role, Turn
from memory.values.vectors import SparseVector
from storage.edge.vectors import EdgeVectors
from storage.redis.server import LocalRedisServer
from storage.redis.sessions import RedisSessions
from storage.shared.encryption import NO_CIPHER, Cipher, KeyCipher
from storage.sqlite.record import SqliteRecord

_USER, _DIMENSION, _ENTITIES = "ann", 384, 2_000
_WARM_UP = 30


class _Stores:
    """The stores of one home, filled."""

    def __init__(self, home: Path, cipher: Cipher, redis_url: str) -> None:
        self._record = SqliteRecord.open(home / "record.sqlite", cipher=cipher)
        self._index = EdgeVectors.open(home / "vectors", model_id="benchmark", dimension=_DIMENSION, cipher=cipher)
        self._sessions = RedisSessions(redis_url, cipher=cipher)
        self._session = home.name
        self._random = np.random.default_rng(0)

    async def fill(self) -> None:
        """Entities to find by name and by vector."""
        now = utc_now()
        names = [f"entity {number}" for number in range(_ENTITIES)]
        ids = [derive_id("entity", name) for name in names]
        entities = [
            Entity(
                user_id=_USER,
                entity_id=id_,
                entity_value=name,
                normalised_value=normalise(name),
                first_mentioned=now,
                last_mentioned=now,
            )
            for id_, name in zip(ids, names, strict=True)
        ]
        async with self._record.writing(user_id=_USER) as unit:
            await unit.entities.save(entities)
            await unit.commit()
        points = [
            IndexPoint(id_, self._vector(), SparseVector((1,), (1.0,)), 0.0, payload={"entity_value": name})
            for id_, name in zip(ids, names, strict=True)
        ]
        await self._index.upsert(Collection.ENTITIES, points, user_id=_USER)

    async def append(self, number: int) -> None:
        """What acknowledges a turn."""
        entry = Resource(
            resource_id=f"r{number}",
            user_id=_USER,
            session_id=self._session,
            content="昨天跟小王去看了那間新開的餐廳，他說下次還要再去。 " * 3,
            created_at=utc_now(),
        )
        await self._record.append([entry], user_id=_USER)

    async def find(self, number: int) -> None:
        """Names in a message."""
        async with self._record.reading(user_id=_USER) as unit:
            await unit.entities.found_in(f"what did I say of entity {number % _ENTITIES}?")

    async def search(self, _: int) -> None:
        """One dense search."""
        await self._index.search([IndexQuery(Collection.ENTITIES, 10, dense=self._vector())], user_id=_USER)

    async def load(self, _: int) -> None:
        """The session before a turn."""
        await self._sessions.load(self._session, user_id=_USER)

    async def remember(self, number: int) -> None:
        """The session after a turn."""
        turns = [
            Turn(
                role=role,
                content="一句話，大約二十個字，跟平常聊天差不多。",
                created_at=utc_now(),
                turn_id=f"{number}-{role}",
            )
            for role in (Role.USER, Role.ASSISTANT)
        ]
        await self._sessions.append(self._session, user_id=_USER, turns=turns, deixis=["它"])

    async def close(self) -> None:
        """Closes the files and connections."""
        await self._sessions.close()
        await self._index.close()
        await self._record.close()

    def _vector(self) -> Any:
        vector = self._random.standard_normal(_DIMENSION).astype(np.float32)
        return vector / np.linalg.norm(vector)


def main() -> None:
    """Measures, and prints medians in milliseconds and their ratio."""
    parser = argparse.ArgumentParser(description="What encryption at rest costs.")
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        server = LocalRedisServer(Path(folder) / "sessions")
        server.start()
        try:
            times = asyncio.run(_measure(Path(folder), server.url, rounds))
        finally:
            server.stop()
    report: dict[str, Any] = {"benchmark": "encryption", "rounds": rounds}
    for step in times["clear"]:
        clear, encrypted = (statistics.median(times[kind][step]) for kind in ("clear", "encrypted"))
        report[step] = {
            "clear_ms": round(clear, 3),
            "encrypted_ms": round(encrypted, 3),
            "ratio": round(encrypted / clear, 2),
        }
        print(f"{step:>9}: {clear:.3f} ms, with a key {encrypted:.3f} ms")
    print(json.dumps(report))


async def _measure(folder: Path, redis_url: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Milliseconds of each step by kind of stores; the kinds take turns, so that both meet the same machine."""
    kinds = {
        kind: _Stores(folder / kind, cipher, redis_url)
        for kind, cipher in (("clear", NO_CIPHER), ("encrypted", KeyCipher(bytes(32))))
    }
    times: dict[str, dict[str, list[float]]] = {kind: {} for kind in kinds}
    for stores in kinds.values():
        await stores.fill()
    for number in range(rounds + _WARM_UP):
        for kind, stores in kinds.items():
            steps: list[Callable[[int], Awaitable[None]]] = [
                stores.load,
                stores.append,
                stores.find,
                stores.search,
                stores.remember,
            ]
            total = 0.0
            for step in steps:
                begin = time.perf_counter()
                await step(number)
                took_ms = 1e3 * (time.perf_counter() - begin)
                total += took_ms
                if number >= _WARM_UP:
                    times[kind].setdefault(step.__name__, []).append(took_ms)
            if number >= _WARM_UP:
                times[kind].setdefault("turn", []).append(total)
    for stores in kinds.values():
        await stores.close()
    return times


if __name__ == "__main__":
    main()
