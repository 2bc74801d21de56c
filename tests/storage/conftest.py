"""Values to store, and one real session server for the whole folder."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from arango.client import ArangoClient
from redis import Redis

from memory.ports.stores.record import SystemOfRecord
from memory.ports.stores.vectors import IndexPoint, VectorIndex
from memory.values.entities import Entity, EntityRelation
from memory.values.facts import Category, CategoryAccess, Fact, GraphEdge
from memory.values.governance.changes import Change, ChangeActor, ChangeKind
from memory.values.ids import entity_id
from memory.values.items import ItemCollection, StoredItem
from memory.values.records import Memory, Resource
from memory.values.text import normalise
from memory.values.typed_memories import TypedMemory
from memory.values.understanding.dialogue import Role, Turn
from memory.values.vectors import SparseVector
from storage.arango.engine.client import ArangoSettings
from storage.arango.engine.schema import COLLECTIONS
from storage.arango.record import ArangoRecord
from storage.inmemory.record import InMemoryRecord
from storage.redis.server import LocalRedisServer
from storage.shared.encryption import KeyCipher
from storage.sqlite.record import SqliteRecord
from testing.arango_standin import ArangoStandIn
from testing.qdrant_standin import QdrantStandIn
from tests.storage import servers
from tests.storage.contracts.vectors.backends import BACKENDS, Backends

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSION = 4


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def resource(name: str, *, user_id: str = "ann", session_id: str = "s", **fields: Any) -> Resource:
    fields = dict[str, Any](content=f"text of {name}", created_at=NOON) | fields
    return Resource(resource_id=name, user_id=user_id, session_id=session_id, **fields)


def entity(value: str, *aliases: str, user_id: str = "ann", **fields: Any) -> Entity:
    fields = dict[str, Any](first_mentioned=NOON, last_mentioned=NOON, entity_id=entity_id(user_id, value)) | fields
    return Entity(user_id=user_id, entity_value=value, normalised_value=normalise(value), aliases=aliases, **fields)


def memory(name: str, *, user_id: str = "ann", session_id: str = "s", **fields: Any) -> Memory:
    fields = dict[str, Any](text=f"text of {name}", created_at=NOON, updated_at=NOON) | fields
    return Memory(memory_id=name, user_id=user_id, session_id=session_id, resource_id=f"r-{name}", **fields)


def relation(source: str, target: str, *, user_id: str = "ann", **fields: Any) -> EntityRelation:
    """Between entities of these ids; its own id says which."""
    defaults: dict[str, Any] = {
        "relation_id": f"{source}>{target}",
        "relation_type": "knows",
        "created_at": NOON,
        "updated_at": NOON,
    }
    return EntityRelation(user_id=user_id, source_entity_id=source, target_entity_id=target, **defaults | fields)


def fact(name: str, *, user_id: str = "ann", **fields: Any) -> Fact:
    defaults: dict[str, Any] = {
        "resource_id": f"r-{name}",
        "subject": "我",
        "predicate": "喜歡",
        "object": f"object of {name}",
        "category": "preferences",
        "recorded_at": NOON,
        "updated_at": NOON,
    }
    return Fact(fact_id=name, user_id=user_id, **defaults | fields)


def category(name: str, *, user_id: str = "ann", **fields: Any) -> Category:
    fields = dict[str, Any](category_id=f"id of {name}", updated_at=NOON) | fields
    return Category(user_id=user_id, name=name, **fields)


def access(name: str, *, user_id: str = "ann", **fields: Any) -> CategoryAccess:
    fields = dict[str, Any](category="preferences", accessed_at=NOON, source="context") | fields
    return CategoryAccess(access_id=name, user_id=user_id, **fields)


def edge(subject: str, predicate: str, object_: str, *, user_id: str = "ann", **fields: Any) -> GraphEdge:
    fields = dict[str, Any](edge_id=f"{subject} {predicate} {object_}", created_at=NOON) | fields
    return GraphEdge(user_id=user_id, subject=subject, predicate=predicate, object=object_, **fields)


def typed_memory(entity_type: str, entity_value: str, *, user_id: str = "ann", **fields: Any) -> TypedMemory:
    defaults: dict[str, Any] = {
        "memory_id": f"{entity_type}/{entity_value}",
        "content": entity_value,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return TypedMemory(user_id=user_id, entity_type=entity_type, entity_value=entity_value, **defaults | fields)


def change(name: str, *subjects: str, user_id: str = "ann", **fields: Any) -> Change:
    fields = dict[str, Any](at=NOON, kind=ChangeKind.RENAME, actor=ChangeActor.USER, reason="", items=()) | fields
    return Change(change_id=name, user_id=user_id, subjects=tuple(dict.fromkeys(subjects)), **fields)


def item(
    *labels: str, user_id: str = "ann", collection: ItemCollection = ItemCollection.STORE, key: str = "k", **fields: Any
) -> StoredItem:
    fields = dict[str, Any](value={"of": user_id}, created_at=NOON, updated_at=NOON) | fields
    return StoredItem(user_id=user_id, collection=collection, namespace=labels or ("a",), key=key, **fields)


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
    relations: Sequence[EntityRelation] = (),
    memories: Sequence[Memory] = (),
    facts: Sequence[Fact] = (),
    categories: Sequence[Category] = (),
    accesses: Sequence[CategoryAccess] = (),
    edges: Sequence[GraphEdge] = (),
) -> None:
    """Everything in one unit of work, entities before their relations."""
    async with record.writing(user_id=user_id) as unit:
        await unit.log.append(resources)
        await unit.entities.save(entities)
        await unit.relations.store(relations)
        await unit.memories.save(memories)
        await unit.facts.create_many(facts)
        for category in categories:
            await unit.categories.create(category)
        await unit.category_accesses.create_many(accesses)
        await unit.graph.create_many(edges)
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
        relation=relation,
        memory=memory,
        fact=fact,
        category=category,
        access=access,
        edge=edge,
        change=change,
        item=item,
        typed_memory=typed_memory,
        turn=turn,
        point=point,
        point_id=point_id,
        save=save,
    )


async def _in_memory(_folder: Path) -> SystemOfRecord:
    return InMemoryRecord()


async def _sqlite(folder: Path) -> SystemOfRecord:
    return SqliteRecord.open(folder / "record.db", readers=2)


async def _sqlite_encrypted(folder: Path) -> SystemOfRecord:
    return SqliteRecord.open(folder / "record.db", readers=2, cipher=KeyCipher(bytes(32)))


@cache
def _arango_stand_in() -> ArangoStandIn:
    return ArangoStandIn().start()


async def _arango(_folder: Path) -> SystemOfRecord:
    return await asyncio.to_thread(_emptied, _arango_stand_in().url)


async def _arango_server(_folder: Path) -> SystemOfRecord:
    return await asyncio.to_thread(lambda: _emptied(servers.arango_url(), servers.ARANGO_PASSWORD))


def _emptied(url: str, password: str = "") -> SystemOfRecord:
    settings = ArangoSettings(url, "jiyi_test", password=password, durable=False, deadline_s=20)
    record = ArangoRecord.open(settings)
    client = ArangoClient(hosts=url)
    aql = client.db(settings.database, username=settings.username, password=password).aql
    for name in COLLECTIONS:
        aql.execute("FOR d IN @@name REMOVE d IN @@name", bind_vars={"@name": name})
    client.close()
    return record


RECORDS: Mapping[str, Callable[[Path], Awaitable[SystemOfRecord]]] = {
    "memory": _in_memory,
    "sqlite": _sqlite,
    "sqlite-encrypted": _sqlite_encrypted,
    "arango": _arango,
    "arango-server": _arango_server,
}
"""Every system of record there is, by how a new and empty one is opened; the contract suites run over each."""


@pytest.fixture(
    params=[
        pytest.param(name, marks=servers.needs_server("ARANGO") if name == "arango-server" else ()) for name in RECORDS
    ]
)
async def record(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SystemOfRecord]:
    """A new and empty system of record of each kind."""
    opened = await RECORDS[request.param](tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def backends(tmp_path_factory: pytest.TempPathFactory, make: SimpleNamespace) -> Iterator[Backends]:
    """Opens vector indexes of each kind by name."""
    opened = Backends(tmp_path_factory.mktemp("vectors"), dimension=make.DIMENSION)
    yield opened
    opened.close()


@pytest.fixture(params=BACKENDS)
async def index(request: pytest.FixtureRequest, backends: Backends) -> AsyncIterator[VectorIndex]:
    """A vector index of each kind, without any points."""
    async with backends.opened(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def running_qdrant() -> Iterator[QdrantStandIn]:
    server = QdrantStandIn()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def qdrant(running_qdrant: QdrantStandIn) -> QdrantStandIn:
    """A stand-in of a Qdrant server, as if just installed."""
    running_qdrant.reset()
    return running_qdrant


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRedisServer]:
    server = LocalRedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """Where the session server is, emptied first: a real server, or one that the tests start."""
    url: str = servers.redis_url() or request.getfixturevalue("redis_server").url
    with Redis.from_url(url) as client:
        client.flushdb()
    return url
