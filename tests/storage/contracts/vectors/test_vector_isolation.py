"""Three users do anything in any order: no method of a vector index ever shows one of them what is another's."""

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery, VectorIndex
from memory.values.hits import SearchFilter
from memory.values.vectors import SparseVector
from storage.inmemory.vectors import InMemoryVectors
from tests.storage.contracts.vectors.backends import BACKENDS, Backends

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

CRAFTED = (
    "ann",
    "*",
    'ann"} OR *',
    "'; DROP TABLE points; --",
    "a.b[]",
    "metadata[].x",
    "metadata",
    "user_id",
    "[0]",
    '"a"."b"',
    "a\\u0000b",
    "王小明",
    "ＡＮＮ",
    "Ann",
    "e\u0301",
    "\u00e9",
    "😀\u202e",
    " ",
    "x" * 80,
    '["k",1]',
    "#" + "0" * 40,
)
"""Texts that mean something to a filter, a path or a token somewhere, or that are nearly the same as another."""

USERS = ("ann", 'ann"} OR *', "a.b[]")
FACTS = Collection.FACTS
values = st.sampled_from([1, True, None, 1.5, *CRAFTED])
steps = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "upsert", "delete", "delete_user", "delete_stale"]),
        st.sampled_from(USERS),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True),
        st.dictionaries(st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0]), max_size=4),
        st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 4),
        st.dictionaries(st.sampled_from(CRAFTED), values, max_size=2),
        st.sampled_from(["", "x", *USERS]),
    ),
    max_size=12,
)


def queries(metadata: dict[str, Any], category: str) -> list[IndexQuery]:
    dense = np.array([1, 0.5, -0.25, 0], dtype=np.float32)
    terms = SparseVector((0, 1, 2), (1.0, 1.0, 1.0))
    asked: list[dict[str, Any]] = [
        {},
        {"filters": SearchFilter(metadata=metadata)},
        {"filters": SearchFilter(metadata={key: [one, "ann", 1] for key, one in metadata.items()})},
        {"where": {"category": category}},
        {"threshold": 0.1},
    ]
    by_terms = [IndexQuery(FACTS, 99, sparse=terms, **fields) for fields in asked]
    return by_terms + [IndexQuery(FACTS, 99, dense=dense, **fields) for fields in asked]


async def step(index: VectorIndex, make: SimpleNamespace, user: str, action: Any) -> Any:
    name, _, names, terms, dense, metadata, category = action
    ids = [make.point_id(name) for name in names]
    if name == "delete":
        return await index.delete(FACTS, ids, user_id=user)
    if name == "delete_user":
        return await index.delete_user(FACTS, user_id=user)
    if name == "delete_stale":
        return await index.delete_stale(FACTS, set(ids), user_id=user)
    fields = {"terms": terms, "dense": dense, "metadata": metadata, "payload": {"category": category}}
    points = [make.point(name, fingerprint=f"{name} {category}", **fields) for name in names]
    return await index.upsert(FACTS, points, user_id=user)


def shown(point: IndexPoint) -> tuple[Any, ...]:
    terms = tuple(zip(point.sparse.indices, point.sparse.values, strict=True))
    return (point.point_id, np.round(point.dense, 4).tolist(), terms, dict(point.payload), point.fingerprint)


async def view(index: VectorIndex, make: SimpleNamespace, user: str, asked: list[IndexQuery]) -> tuple[Any, ...]:
    """All that a user can see, scores to four digits."""
    found = await index.search(asked, user_id=user)
    return (
        [{hit.point_id: pytest.approx(hit.score, rel=1e-4, abs=1e-5) for hit in hits} for hits in found],
        await index.count(FACTS, user_id=user),
        sorted((point.point_id, point.fingerprint) for point in await index.stored(FACTS, user_id=user)),
        [shown(point) for point in await index.get(FACTS, [make.point_id(name) for name in "abc"], user_id=user)],
    )


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name != "memory"])
def test_each_users_vectors_are_as_if_the_others_were_not_there(
    backends: Backends, make: SimpleNamespace, backend: str
) -> None:
    async def run(shared: VectorIndex, actions: Any, metadata: dict[str, Any]) -> None:
        # New names for each example: what earlier examples left behind are further users.
        suffix = uuid.uuid4().hex
        renamed = {user: f"{user} {suffix}" for user in USERS}
        alone = {user: InMemoryVectors(dimension=make.DIMENSION) for user in USERS}
        for action in actions:
            user = action[1]
            assert await step(shared, make, renamed[user], action) == await step(alone[user], make, user, action)
        asked = queries(metadata, "ann")
        for user in USERS:
            expected = await view(alone[user], make, user, asked)
            assert await view(shared, make, renamed[user], asked) == expected
        holders = {user for user in await shared.users(FACTS) if user.endswith(suffix)}
        assert holders == {renamed[user] for user in USERS if await alone[user].count(FACTS, user_id=user)}

    with asyncio.Runner() as runner:
        opened = backends.opened(backend)
        shared = runner.run(opened.__aenter__())
        examples = settings(
            max_examples=25 if backend == "edge" else 12,
            suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        )

        @examples
        @given(actions=steps, metadata=st.dictionaries(st.sampled_from(CRAFTED), values, max_size=2))
        def holds(actions: Any, metadata: dict[str, Any]) -> None:
            runner.run(run(shared, actions, metadata))

        holds()
        runner.run(opened.__aexit__(None, None, None))


@pytest.mark.parametrize("backend", BACKENDS)
async def test_no_crafted_text_reaches_what_is_another_users(
    backends: Backends, make: SimpleNamespace, backend: str
) -> None:
    """Every text is a user, a metadata key, a metadata value, a session and a category: each finds itself alone."""
    async with backends.opened(backend) as index:
        for user in CRAFTED:
            point = make.point(
                "a",
                session_id=user,
                role=user,
                metadata={user: user, "owner": user},
                payload={"category": user, "status": user},
                fingerprint=user,
            )
            await index.upsert(FACTS, [point], user_id=user)
        dense = np.array([1, 0, 0, 0], dtype=np.float32)
        for user in CRAFTED:
            asked = [
                IndexQuery(FACTS, 99, dense=dense, filters=SearchFilter(metadata={key: value}))
                for key in CRAFTED
                for value in (user, CRAFTED[0])
            ]
            asked += [
                IndexQuery(FACTS, 99, dense=dense, filters=SearchFilter(metadata={"owner": list(CRAFTED)})),
                IndexQuery(FACTS, 99, dense=dense, filters=SearchFilter(session_id=user)),
                IndexQuery(FACTS, 99, dense=dense, where={"category": user, "status": user}),
                IndexQuery(FACTS, 99, sparse=SparseVector((1,), (1.0,))),
            ]
            found = await index.search(asked, user_id=user)
            hits = [len(reply) for reply in found]
            expected = [int(key == user and value == user) for key in CRAFTED for value in (user, CRAFTED[0])]
            assert hits == [*expected, 1, 1, 1, 1]
            assert found[-1][0].score == pytest.approx(0.28768, rel=1e-3)  # ln(0.5 / 1.5 + 1): one point, its own
            ((held,), (point,)) = (
                await index.stored(FACTS, user_id=user),
                await index.get(FACTS, [make.point_id("a")], user_id=user),
            )
            assert (held.fingerprint, point.fingerprint, point.session_id) == (user, user, user)
        others = IndexQuery(FACTS, 99, dense=dense, where={"category": "ann"}, filters=SearchFilter(session_id="ann"))
        assert await index.search([others], user_id="*") == [[]]
        assert await index.users(FACTS) == sorted(CRAFTED)
        for place, user in enumerate(CRAFTED, start=1):
            await index.delete_user(FACTS, user_id=user)
            assert len(await index.users(FACTS)) == len(CRAFTED) - place
