"""The forgetting curve is that of 004 §7.1, number for number."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memory.values.facts import Fact
from memory.values.governance.retention import RetentionPolicy
from memory.values.records import Memory

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOCUMENT = RetentionPolicy()
DAYS = st.floats(0, 4_000)
ACCESSES = st.integers(0, 10**9)
POLICIES = st.builds(RetentionPolicy, decay_rate=st.floats(0, 10), frequency_weight=st.floats(0, 10))


def memory(**fields: object) -> Memory:
    given = {"text": "x", "created_at": NOON, "updated_at": NOON} | fields
    return Memory.model_validate({"memory_id": "m", "user_id": "ann", "session_id": "s", "resource_id": "r", **given})


def test_the_defaults_are_those_of_the_document() -> None:
    assert (DOCUMENT.decay_rate, DOCUMENT.frequency_weight) == (0.1, 1.0)


TABLE = [(0, 1.00, 0.20), (7, 0.50, 0.10), (14, 0.25, 0.05), (30, 0.05, 0.01)]


@pytest.mark.parametrize(("days", "decay", "score"), TABLE)
def test_the_table_of_the_document(days: float, decay: float, score: float) -> None:
    assert round(math.exp(-DOCUMENT.decay_rate * days), 2) == decay
    assert round(DOCUMENT.score(days_elapsed=days, access_count=0), 2) == score


@given(days=DAYS, accesses=ACCESSES, policy=POLICIES)
def test_the_score_is_the_formula_of_the_document(days: float, accesses: int, policy: RetentionPolicy) -> None:
    time_decay = math.exp(-policy.decay_rate * days)
    frequency_boost = 1 + policy.frequency_weight * math.log(1 + accesses)
    expected = min(1.0, time_decay * frequency_boost / 5.0)
    assert policy.score(days_elapsed=days, access_count=accesses) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert 0.0 <= expected <= 1.0


@given(days=DAYS, accesses=ACCESSES, policy=POLICIES)
def test_time_lowers_it_and_use_raises_it(days: float, accesses: int, policy: RetentionPolicy) -> None:
    score = policy.score(days_elapsed=days, access_count=accesses)
    assert policy.score(days_elapsed=days + 1, access_count=accesses) <= score
    assert policy.score(days_elapsed=days, access_count=accesses + 1) >= score
    faster = policy.model_copy(update={"decay_rate": policy.decay_rate + 1})
    assert faster.score(days_elapsed=days, access_count=accesses) <= score


@given(days=DAYS, policy=POLICIES)
def test_without_a_use_it_is_at_most_a_fifth(days: float, policy: RetentionPolicy) -> None:
    assert policy.score(days_elapsed=days, access_count=0) <= 0.2
    assert policy.score(days_elapsed=0, access_count=0) == 0.2


def test_54_uses_reach_one() -> None:
    assert DOCUMENT.score(days_elapsed=0, access_count=53) < 1.0 == DOCUMENT.score(days_elapsed=0, access_count=54)


def test_days_count_from_the_last_use_else_from_when_it_was_said() -> None:
    now = NOON + timedelta(days=30)
    unused = DOCUMENT.retention_of(memory(), now)
    used = DOCUMENT.retention_of(memory(access_count=3, last_accessed_at=now - timedelta(hours=12)), now)
    assert (unused.days_elapsed, unused.is_forgotten) == (30, True)
    assert (used.days_elapsed, used.access_count, used.is_forgotten) == (0.5, 3, False)
    assert used.score == pytest.approx(math.exp(-0.05) * (1 + math.log(4)) / 5)
    future = DOCUMENT.retention_of(memory(), NOON - timedelta(days=1))
    assert (future.score, future.days_elapsed) == (0.2, 0)


def test_a_fact_is_retained_by_the_same_curve() -> None:
    fact = Fact(
        fact_id="f",
        user_id="ann",
        resource_id="r",
        subject="user",
        predicate="likes",
        object="tea",
        category="preferences",
        recorded_at=NOON,
        updated_at=NOON,
        access_count=1,
        accessed_at=NOON + timedelta(days=1),
    )
    kept = DOCUMENT.retention_of(fact, NOON + timedelta(days=8))
    assert kept.score == pytest.approx(math.exp(-0.7) * (1 + math.log(2)) / 5)


@pytest.mark.parametrize(
    "fields",
    [
        {"decay_rate": -0.1},
        {"decay_rate": 10.1},
        {"decay_rate": math.nan},
        {"frequency_weight": -1},
        {"frequency_weight": math.inf},
        {"threshold": 1.1},
        {"half_life": 3},
    ],
)
def test_a_policy_outside_of_its_bounds_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(fields))):
        RetentionPolicy.model_validate(fields)
