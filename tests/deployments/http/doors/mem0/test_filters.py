"""What mem0's filters let through, and which are no filters."""

from datetime import UTC, datetime
from typing import Any

import pytest

from deployments.http.doors.mem0.filters import names_entity, read_filter, read_written, users_of
from deployments.http.doors.mem0.kept import KeptMemory, packed
from memory.values.errors import InvalidField
from memory.values.records import Memory

_AT = datetime(2026, 1, 2, 12, tzinfo=UTC)
MEMORY = KeptMemory(
    Memory(
        memory_id="m",
        user_id="alice",
        session_id="r1",
        resource_id="r",
        text="Blue Drawer",
        metadata=packed({"n": 3, "tags": ["a"]}, agent_id="bot"),
        created_at=_AT,
        updated_at=_AT,
    ),
    ("food", "work"),
)


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({}, True),
        ({"categories": "food"}, True),
        ({"categories": "foo"}, False),
        ({"categories": {"icontains": "FOOD"}}, True),
        ({"categories": {"in": ["x", "work"]}}, True),
        ({"categories": {"nin": ["work"]}}, False),
        ({"categories": "*"}, True),
        ({"memory": "blue"}, True),
        ({"keywords": {"contains": "blue"}}, False),
        ({"memory_ids": ["m", "n"]}, True),
        ({"session_id": "r1"}, True),
        ({"metadata": {"tags": {"contains": "a"}}}, True),
        ({"metadata": {"n": {"gte": 3, "lt": 4}}}, True),
        ({"metadata": {"n": {"gt": "x"}}}, False),
        ({"metadata": {"absent": {"ne": 1}}}, True),
        ({"metadata": {"absent": "*"}}, False),
        ({"metadata": "*"}, True),
        ({"created_at": {"lte": "2026-01-02"}}, True),
        ({"created_at": {"gt": "2026-01-02"}}, False),
        ({"created_at": {"gt": 1, "lt": "2026-01-02T12:00:01"}}, True),
        ({"agent_id": ["bot", "x"]}, True),
        ({"NOT": [{"agent_id": "bot"}]}, False),
        ({"NOT": {"OR": [{"agent_id": "x"}, {"run_id": "x"}]}}, True),
        ({"agent_id": None}, False),
        ({"app_id": None}, True),
        ({"OR": []}, False),
        ({"AND": []}, True),
    ],
)
def test_a_filter_holds_for_what_it_says(given: Any, holds: bool) -> None:
    assert read_filter(given).holds(MEMORY) is holds


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([], "filters"),
        ({1: 2}, "filters.1"),
        ({"foo": 1}, "filters.foo"),
        ({"AND": [3]}, "filters.AND.0"),
        ({"user_id": None}, "filters.user_id"),
        ({"user_id": 3}, "filters.user_id"),
        ({"agent_id": b"x"}, "filters.agent_id"),
        ({"memory": 3}, "filters.memory"),
        ({"memory": {"like": "x"}}, "filters.memory.like"),
        ({"categories": {"in": "x"}}, "filters.categories.in"),
        ({"created_at": {"gte": "soon"}}, "filters.created_at.gte"),
        ({"metadata": 3}, "filters.metadata"),
    ],
)
def test_what_is_no_filter_is_refused_by_name(given: Any, named: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read_filter(given)
    assert refused.value.field == named
    assert refused.value.allowed


@pytest.mark.parametrize(
    ("given", "users", "is_named"),
    [
        ({"user_id": "a"}, {"a"}, True),
        ({"user_id": "*"}, None, True),
        ({"user_id": {"in": ["a", "b"]}}, {"a", "b"}, True),
        ({"AND": [{"user_id": ["a", "b"]}, {"user_id": "b"}]}, {"b"}, True),
        ({"AND": [{"user_id": "a"}, {"metadata": {"n": 1}}]}, {"a"}, True),
        ({"OR": [{"user_id": "a"}, {"user_id": "b"}]}, {"a", "b"}, True),
        ({"OR": [{"user_id": "a"}, {"agent_id": "*"}]}, None, True),
        ({"OR": [{"user_id": "a"}, {"metadata": {"n": 1}}]}, None, False),
        ({"NOT": {"user_id": "a"}}, None, False),
        ({"user_id": {"ne": "a"}}, None, False),
        ({"agent_id": None}, None, False),
        ({}, None, False),
    ],
)
def test_a_filter_says_whose_memories_it_can_let_through(given: Any, users: set[str] | None, is_named: bool) -> None:
    assert users_of(read_filter(given)) == users
    assert names_entity(read_filter(given)) is is_named


def test_what_python_writes_for_a_dictionary_is_read_and_nothing_is_run() -> None:
    given = {"AND": [{"user_id": "O'Neil"}, {"metadata": {"x": None, "y": True}}]}
    assert read_written(str(given), "filters") == given
    assert read_written('{"user_id": "a", "z": null}', "filters") == {"user_id": "a", "z": None}
    for text in ("[object Object]", "__import__('os')", "{'a': 1 if True else 2}", "(" * 5_000, "1" * 9_000, ""):
        with pytest.raises(InvalidField):
            read_written(text, "filters")


def test_a_callers_own_entries_are_no_labels_of_the_memory() -> None:
    metadata = packed({"agent_id": "mine", "n": 3}, agent_id="bot")
    memory = KeptMemory(MEMORY.memory.model_copy(update={"metadata": metadata}))
    assert (memory.value("agent_id"), memory.metadata) == ("bot", {"agent_id": "mine", "n": 3})
