"""The priority of categories (002 §4.3)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.tiers.priority import OTHER_WEIGHT, STATIC_WEIGHTS, PriorityRules, prioritise
from memory.values.facts import CategoryAccess
from storage.inmemory.record import InMemoryRecord

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
RULES = PriorityRules()
days = st.floats(min_value=0, max_value=5_000)
uses = st.integers(min_value=0, max_value=1_000)


def ago(number: float) -> datetime:
    return NOW - timedelta(days=number)


def test_weights_and_defaults_are_those_of_002() -> None:
    assert STATIC_WEIGHTS == {
        "preferences": 1.0, "facts": 0.9, "goals": 0.7, "skills": 0.6, "relationships": 0.5, "events": 0.4,
    }  # fmt: skip
    assert RULES.model_dump() == {
        "usage_window_days": 30, "usage_norm": 10, "usage_weight": 0.3,
        "recency_half_life_days": 14, "recency_weight": 0.2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("category", "used", "last_days", "priority"),
    [
        ("preferences", 0, None, 1.0),
        ("preferences", 10, 0, 1.5),
        ("preferences", 99, 0, 1.5),
        ("preferences", 5, 14, 1.25),
        ("facts", 10, 28, 0.9 * 1.35),
        ("events", 0, 14, 0.4 * 1.1),
        ("hobbies", 0, None, OTHER_WEIGHT),
    ],
)
def test_the_formula(category: str, used: int, last_days: float | None, priority: float) -> None:
    last = None if last_days is None else ago(last_days)
    assert RULES.priority(category, uses=used, last_used=last, now=NOW) == pytest.approx(priority)


@given(st.sampled_from(sorted(STATIC_WEIGHTS)), uses, uses, days, days)
def test_more_and_later_use_never_lowers_it_and_it_stays_in_bounds(
    category: str, fewer: int, more: int, later: float, earlier: float
) -> None:
    fewer, more = sorted((fewer, more))
    later, earlier = sorted((later, earlier))
    low = RULES.priority(category, uses=fewer, last_used=ago(earlier), now=NOW)
    high = RULES.priority(category, uses=more, last_used=ago(later), now=NOW)
    weight = STATIC_WEIGHTS[category]
    assert weight <= low <= high <= weight * 1.5 + 1e-9


@given(days)
def test_a_half_life_halves_what_recency_adds(age: float) -> None:
    def added(age_days: float) -> float:
        return RULES.priority("preferences", uses=0, last_used=ago(age_days), now=NOW) - 1

    assert added(age + 14) == pytest.approx(added(age) / 2, abs=1e-9)


def test_a_use_in_the_future_counts_as_one_now() -> None:
    assert RULES.priority("goals", uses=0, last_used=ago(-3), now=NOW) == pytest.approx(0.7 * 1.2)


async def test_categories_are_ranked_by_the_uses_of_their_user() -> None:
    record = InMemoryRecord()
    async with record.writing(user_id="ann") as unit:
        await unit.category_accesses.create_many(
            [
                CategoryAccess(
                    access_id=f"{index}", user_id="ann", category=name, accessed_at=ago(age), source="prompt"
                )
                for index, (name, age) in enumerate([*[("goals", 1.0)] * 10, ("facts", 31.0)])
            ]
        )
        await unit.commit()
    async with record.reading(user_id="ann") as unit:
        ranked = await prioritise(unit, ["events", "facts", "goals", "skills"], rules=RULES, now=NOW)
    assert [name for name, _ in ranked] == ["goals", "facts", "skills", "events"]
    assert dict(ranked)["facts"] == pytest.approx(0.9 * (1 + 0.2 * 0.5 ** (31 / 14)))
