"""Three users do anything in any order: no port ever shows one of them what is another's."""

import asyncio
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.ports.record import SystemOfRecord
from memory.ports.vectors import Collection, IndexQuery, SparseVector, VectorIndex
from memory.retrieval.hits import SearchFilter
from storage.edge_vectors import EdgeVectors
from storage.memory_record import InMemoryRecord
from storage.memory_sessions import InMemorySessions
from storage.memory_vectors import InMemoryVectors
from storage.redis_sessions import RedisSessions
from storage.sqlite_record import SqliteRecord

USERS = ("ann", "bob", 'ann"} OR *')
users = st.sampled_from(USERS)
ids = st.sampled_from("abc")
slow = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

vector_steps = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "delete"]),
        users,
        ids,
        st.dictionaries(st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0]), max_size=4),
        st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 4),
        st.sampled_from([{}, {"k": 1}, {"k": True}, {"k": "ann"}]),
    ),
    max_size=15,
)


def _queries() -> list[IndexQuery]:
    dense = np.array([1, 0.5, -0.25, 0], dtype=np.float32)
    return [
        IndexQuery(Collection.MEMORIES, 99, sparse=SparseVector((0, 1, 2), (1.0, 1.0, 1.0)), filters=filters)
        if by_terms
        else IndexQuery(Collection.MEMORIES, 99, dense=dense, filters=filters)
        for by_terms in (True, False)
        for filters in (SearchFilter(), SearchFilter(metadata={"k": [1, "ann"]}))
    ]


@pytest.fixture(scope="module")
def shared_index(tmp_path_factory: pytest.TempPathFactory, make: SimpleNamespace) -> Iterator[EdgeVectors]:
    index = EdgeVectors.open(tmp_path_factory.mktemp("shared"), model_id="e5", dimension=make.DIMENSION)
    yield index
    asyncio.run(index.close())


@slow
@given(steps=vector_steps)
def test_each_users_vectors_are_as_if_the_others_were_not_there(
    make: SimpleNamespace, shared_index: VectorIndex, steps: Any
) -> None:
    # New names for each example: what earlier examples left behind are further users.
    renamed = {user: f"{user} {uuid.uuid4()}" for user in USERS}

    async def run() -> None:
        alone = {user: InMemoryVectors(dimension=make.DIMENSION) for user in USERS}
        for action, user, name, terms, dense, metadata in steps:
            for index, owner in ((shared_index, renamed[user]), (alone[user], user)):
                if action == "upsert":
                    point = make.point(name, dense=dense, terms=terms, metadata=metadata)
                    await index.upsert(Collection.MEMORIES, [point], user_id=owner)
                else:
                    await index.delete(Collection.MEMORIES, [make.point_id(name)], user_id=owner)
        for user in USERS:
            found = await shared_index.search(_queries(), user_id=renamed[user])
            expected = await alone[user].search(_queries(), user_id=user)
            for hits, wanted in zip(found, expected, strict=True):
                by_id = {hit.point_id: hit.score for hit in hits}
                assert by_id == pytest.approx({hit.point_id: hit.score for hit in wanted}, rel=1e-4, abs=1e-5)
            count = await shared_index.count(Collection.MEMORIES, user_id=renamed[user])
            assert count == await alone[user].count(Collection.MEMORIES, user_id=user)

    asyncio.run(run())


record_steps = st.lists(
    st.tuples(st.sampled_from(["log", "learn", "entity", "memory", "rollback"]), users, ids, users), max_size=15
)


async def _record_step(
    record: SystemOfRecord, make: SimpleNamespace, action: str, user: str, name: str, word: str
) -> None:
    async with record.writing(user_id=user) as unit:
        if action == "log":
            await unit.log.append([make.resource(name, user_id=user, content=word)])
        elif action == "learn":
            await unit.log.mark_learned([name])
        elif action == "entity":
            await unit.entities.save([make.entity(word, name, user_id=user, entity_id=name)])
        else:
            await unit.memories.save([make.memory(name, user_id=user, text=word)])
        if action != "rollback":
            await unit.commit()


async def _record_view(record: SystemOfRecord, user: str) -> tuple[Any, ...]:
    async with record.reading(user_id=user) as unit:
        return (
            [one.model_copy(update={"sequence": 0}) for one in await unit.log.session("s", limit=99)],
            await unit.log.get(list("abc")) != [],
            await unit.entities.get(list("abc")),
            sorted(one.entity_id for one in await unit.entities.recent(limit=99)),
            [one.entity_id for one in await unit.entities.found_in(f"a b c {' '.join(USERS)}")],
            sorted(one.memory_id for one in await unit.memories.recent(limit=99)),
            await unit.memories.get(list("abc")),
            [one.resource_id for one in await record.backlog.unlearned(limit=99, user_id=user)],
            [(one.collection, one.item_id) for one in await record.backlog.outbox(limit=99, user_id=user)],
        )


@slow
@given(steps=record_steps)
def test_each_users_record_is_as_if_the_others_were_not_there(make: SimpleNamespace, steps: Any) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            shared = SqliteRecord.open(Path(folder) / "record.db", durable=False, readers=1)
            alone = {user: InMemoryRecord() for user in USERS}
            for action, user, name, word in steps:
                for record in (shared, alone[user]):
                    await _record_step(record, make, action, user, name, word)
            for user in USERS:
                assert await _record_view(shared, user) == await _record_view(alone[user], user)
            totals = [await record.backlog.counts() for record in alone.values()]
            counts = await shared.backlog.counts()
            for name in ("resources", "unlearned", "entities", "memories", "outbox", "users"):
                assert counts[name] == sum(total[name] for total in totals)
            await shared.close()

    asyncio.run(run())


session_steps = st.lists(
    st.tuples(st.sampled_from(["append", "append", "clear"]), users, st.sampled_from(["s", "*", "}:x{"]), ids),
    max_size=15,
)


@slow
@given(steps=session_steps)
def test_each_users_sessions_are_as_if_the_others_were_not_there(
    make: SimpleNamespace, redis_url: str, steps: Any
) -> None:
    async def run() -> None:
        shared = RedisSessions(redis_url, now=lambda: make.NOON)
        await shared._redis.flushdb()
        alone = {user: InMemorySessions(now=lambda: make.NOON) for user in USERS}
        for action, user, session, word in steps:
            for store in (shared, alone[user]):
                if action == "append":
                    await store.append(
                        session, user_id=user, turns=[make.turn(word, word)], mentioned=[word], deixis=[word]
                    )
                else:
                    await store.clear(session, user_id=user)
        for user in USERS:
            for session in ("s", "*", "}:x{"):
                assert await shared.load(session, user_id=user) == await alone[user].load(session, user_id=user)
        await shared.close()

    asyncio.run(run())
