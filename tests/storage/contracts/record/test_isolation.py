"""Three users do anything in any order: no port ever shows one of them what is another's."""

import asyncio
import inspect
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

from memory.ports.stores.vectors import Collection, IndexQuery, VectorIndex
from memory.values.hits import SearchFilter
from memory.values.vectors import SparseVector
from storage.edge.vectors import EdgeVectors
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.sessions import InMemorySessions
from storage.inmemory.vectors import InMemoryVectors
from storage.redis.sessions import RedisSessions
from storage.sqlite.record import SqliteRecord
from tests.storage.contracts.record import knowledge_steps
from tests.storage.contracts.record import record_steps as record_steps_module
from tests.storage.contracts.record.knowledge_steps import KNOWLEDGE_ACTIONS
from tests.storage.contracts.record.record_steps import (
    BACKLOG_ACTIONS,
    CREATING,
    REPOSITORIES,
    UNIT_ACTIONS,
    take,
    view,
)
from tests.storage.contracts.record.steps import Step

USERS = ("ann", "bob", 'ann"} OR *')
users = st.sampled_from(USERS)
ids = st.sampled_from("abc")
slow = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

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


# What a name, an id or a text may hold: syntax of several query languages, patterns, look-alikes, nothing, very much.
CRAFTED = [
    "A",
    "臺灣",
    "台湾",
    "ann",
    'ann"} OR *',
    "bob'; DELETE FROM facts; --",
    "%",
    "_",
    "*",
    "' OR user_id = user_id OR '",
    "@user_id",
    "${user}",
    '{"$ne": null}',
    "ａｎｎ",
    "\u202eann",
    "a\u2028\x1f\x7f",
    "\ufeff",
    "𠮷",
    "",
    "記憶 " * 400,
]
some_users = st.sets(users, min_size=1)
three_words = st.tuples(*[st.sampled_from([0, 0, 1, 2])] * 3)
record_steps = st.lists(
    st.tuples(
        st.sampled_from([*UNIT_ACTIONS, *KNOWLEDGE_ACTIONS, *BACKLOG_ACTIONS]),
        some_users,
        three_words,
        st.integers(0, 4),
        st.booleans(),
    ),
    max_size=25,
)


@slow
@given(
    spelling=st.lists(st.sampled_from(["a", "b", *CRAFTED]), min_size=3, max_size=3, unique=True),
    having=some_users,
    steps=record_steps,
)
def test_each_users_record_is_as_if_the_others_were_not_there(
    make: SimpleNamespace, spelling: list[str], having: set[str], steps: Any
) -> None:
    # Some have the same of everything to begin with; every step is taken by some, with the same ids.
    begun = [(action, having, (0, 0, 1), 1, True) for action in CREATING]

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            shared = SqliteRecord.open(Path(folder) / "record.db", durable=False, readers=1)
            alone = {user: InMemoryRecord() for user in USERS}
            for action, who, three, seconds, kept in [*begun, *steps]:
                for user in sorted(who):
                    first, second, third = (spelling[index] for index in three)
                    step = Step(action, user, first, second, third, make.at(seconds), kept)
                    assert await take(step, shared, make) == await take(step, alone[user], make)
            for user in USERS:
                assert await view(shared, make, user, spelling) == await view(alone[user], make, user, spelling)
            totals = [await record.backlog.counts() for record in alone.values()]
            counts = await shared.backlog.counts()
            for name in counts.keys() - {"size_bytes"}:
                assert counts[name] == sum(total[name] for total in totals)
            found = sorted([user for record in alone.values() for user in await record.backlog.users(limit=99)])
            assert await shared.backlog.users(limit=99) == found
            assert await shared.backlog.users(after="ann", limit=99) == [user for user in found if user > "ann"]
            await shared.close()

    asyncio.run(run())


@pytest.mark.parametrize("action", [*UNIT_ACTIONS, *KNOWLEDGE_ACTIONS, *BACKLOG_ACTIONS])
async def test_whatever_one_user_does_with_ids_that_all_have_the_others_keep_what_they_had(
    make: SimpleNamespace, tmp_path: Path, action: str
) -> None:
    spelling = ["x", "*", "", "'"]
    shared = SqliteRecord.open(tmp_path / "record.db", durable=False, readers=1)
    alone = {user: InMemoryRecord() for user in USERS}

    async def both(user: str, action: str, first: int, second: int, third: int) -> None:
        step = Step(action, user, spelling[first], spelling[second], spelling[third], make.at(3), True)
        assert await take(step, shared, make) == await take(step, alone[user], make)

    async def compare() -> None:
        for user in USERS:
            assert await view(shared, make, user, spelling) == await view(alone[user], make, user, spelling)

    for number, user in enumerate(USERS, start=1):
        for row in (1, 2, 3):
            await both(user, "append", row, 0, 0)
            await both(user, "mark_learned", row, row, row)
            await both(user, "save_entity", row, row, row)
        for creating in CREATING:
            await both(user, creating, 0, 0, number)
    await compare()
    await both("ann", action, 0, 0, 1)
    await compare()
    await shared.close()


@pytest.mark.parametrize("name", REPOSITORIES)
def test_every_method_of_every_repository_is_among_what_users_do_or_see(name: str) -> None:
    calls = inspect.getsource(record_steps_module) + inspect.getsource(knowledge_steps)
    methods = REPOSITORIES[name].__abstractmethods__
    assert [method for method in sorted(methods) if f"{name}.{method}(" not in calls] == []


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
        await shared._redis.commands.flushdb()
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
