"""Values to store, and one real session server for the whole folder."""

import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from redis import Redis

from memory.dialogue import Role, Turn
from memory.entities import Entity
from memory.identity import entity_id
from memory.ports.record import SystemOfRecord
from memory.ports.vectors import IndexPoint, SparseVector
from memory.records import Memory, Resource
from memory.text import normalise
from storage.memory_record import InMemoryRecord
from storage.redis_server import LocalRedisServer
from storage.sqlite_record import SqliteRecord

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSION = 4


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def resource(name: str, *, user_id: str = "ann", session_id: str = "s", **fields: Any) -> Resource:
    fields = {"content": f"text of {name}", "created_at": NOON} | fields
    return Resource(resource_id=name, user_id=user_id, session_id=session_id, **fields)


def entity(value: str, *aliases: str, user_id: str = "ann", **fields: Any) -> Entity:
    fields = {"first_mentioned": NOON, "last_mentioned": NOON, "entity_id": entity_id(user_id, value)} | fields
    return Entity(user_id=user_id, entity_value=value, normalised_value=normalise(value), aliases=aliases, **fields)


def memory(name: str, *, user_id: str = "ann", session_id: str = "s", **fields: Any) -> Memory:
    fields = {"text": f"text of {name}", "created_at": NOON, "updated_at": NOON} | fields
    return Memory(memory_id=name, user_id=user_id, session_id=session_id, resource_id=f"r-{name}", **fields)


def turn(content: str, turn_id: str | None = None, role: Role = Role.USER) -> Turn:
    return Turn(role=role, content=content, created_at=NOON, turn_id=turn_id)


def point(name: str, *, dense: Any = (1, 0, 0, 0), terms: dict[int, float] | None = None, **fields: Any) -> IndexPoint:
    terms = {1: 1.0} if terms is None else terms
    vector = np.asarray(dense, dtype=np.float32)
    return IndexPoint(
        point_id=point_id(name),
        dense=vector / (np.linalg.norm(vector) or 1),
        sparse=SparseVector(tuple(terms), tuple(terms.values())),
        **({"created_at_s": NOON.timestamp()} | fields),
    )


def point_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


async def save(
    record: SystemOfRecord,
    *,
    user_id: str = "ann",
    resources: Sequence[Resource] = (),
    entities: Sequence[Entity] = (),
    memories: Sequence[Memory] = (),
) -> None:
    async with record.writing(user_id=user_id) as unit:
        await unit.log.append(resources)
        await unit.entities.save(entities)
        await unit.memories.save(memories)
        await unit.commit()


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """Builders of values with sensible defaults; `make.at(s)` is a moment `s` seconds after `make.NOON`."""
    return SimpleNamespace(
        NOON=NOON,
        DIMENSION=DIMENSION,
        at=at,
        resource=resource,
        entity=entity,
        memory=memory,
        turn=turn,
        point=point,
        point_id=point_id,
        save=save,
    )


@pytest.fixture(params=["memory", "sqlite"])
async def record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SystemOfRecord]:
    """Every system of record there is."""
    opened = InMemoryRecord() if request.param == "memory" else SqliteRecord.open(tmp_path / "record.db", readers=2)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedisServer]:
    server = LocalRedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis_server: LocalRedisServer) -> str:
    """Where the session server is, emptied first."""
    with Redis.from_url(redis_server.url) as client:
        client.flushdb()
    return redis_server.url
