"""Three users do anything in any order in ArangoDB: each sees what they would see alone, and what a fake shows."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.arango.engine.client import ArangoSettings
from storage.arango.record import ArangoRecord
from storage.inmemory.record import InMemoryRecord
from testing.arango_standin import ArangoStandIn
from tests.storage.contracts.record.knowledge_steps import KNOWLEDGE_ACTIONS
from tests.storage.contracts.record.record_steps import BACKLOG_ACTIONS, UNIT_ACTIONS, take, view
from tests.storage.contracts.record.steps import Step

USERS = ("Zoé", "Zoe\u0301", 'ann"} OR true')
# Equal or ignorable to a collation, sorted otherwise than by code point, syntax of AQL, nothing.
WORDS = ("a", "A", "é", "e\u0301", "a\u200bb", "ab", "臺灣", "台湾", "-", "1", "%C3%A9", '"} OR true', "@user", "\0")

steps_of_all = st.lists(
    st.tuples(
        st.sampled_from([*UNIT_ACTIONS, *KNOWLEDGE_ACTIONS, *BACKLOG_ACTIONS]),
        st.sampled_from(USERS),
        *[st.sampled_from(WORDS)] * 3,
        st.integers(0, 4),
        st.booleans(),
    ),
    max_size=20,
)


@pytest.fixture(scope="module")
def server() -> Iterator[ArangoStandIn]:
    with ArangoStandIn() as running:
        yield running


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=steps_of_all)
def test_each_users_record_is_as_if_the_others_were_not_there(
    make: SimpleNamespace, server: ArangoStandIn, steps: Any
) -> None:
    asked_for = sorted({"a", *(word for _, _, *three, _, _ in steps for word in three)})[:6]

    async def run() -> None:
        server.reset()
        shared = await asyncio.to_thread(ArangoRecord.open, ArangoSettings(server.url, "jiyi"))
        alone = {user: InMemoryRecord() for user in USERS}
        for action, user, first, second, third, seconds, kept in steps:
            step = Step(action, user, first, second, third, make.at(seconds), kept)
            assert await take(step, shared, make) == await take(step, alone[user], make)
        for user in {user for _, user, *_ in steps}:
            assert await view(shared, make, user, asked_for) == await view(alone[user], make, user, asked_for)
        found = sorted([user for record in alone.values() for user in await record.backlog.users(limit=99)])
        assert await shared.backlog.users(limit=99) == found
        assert await shared.backlog.users(after="Zoe", limit=1) == [user for user in found if user > "Zoe"][:1]
        await shared.close()

    asyncio.run(run())
