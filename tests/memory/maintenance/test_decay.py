"""How age lowers confidence, and use raises it (002 §5.1, §5.2, §5.4)."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.maintenance.decay import MaintenanceRules, time_decay_score
from memory.values.facts import FactStatus
from memory.values.predicates import LASTING, PREDICATES
from tests.memory.tiers.facts import NOW, days_ago, fact

RULES = MaintenanceRules()
EXACT = MaintenanceRules(smallest_change=0)
ages = st.floats(min_value=0, max_value=1_000)


@pytest.mark.parametrize(
    ("age", "score"),
    [(0, 1), (0.99, 1), (1, 0.5 ** (1 / 30)), (30, 0.5), (30.99, 0.5), (60, 0.25), (90, 0.125), (-5, 1)],
)
def test_the_formula_of_002(age: float, score: float) -> None:
    assert time_decay_score(days_ago(age), now=NOW) == pytest.approx(score)
    assert time_decay_score(days_ago(age * 2), now=NOW, half_life_days=60) == pytest.approx(
        0.5 ** (max(0, int(age * 2)) / 60)
    )


@given(ages, ages)
def test_it_falls_with_age_and_stays_between_0_and_1(younger: float, older: float) -> None:
    younger, older = sorted((younger, older))
    assert 0 < time_decay_score(days_ago(older), now=NOW) <= time_decay_score(days_ago(younger), now=NOW) <= 1


@given(ages)
def test_a_half_life_halves_it(age: float) -> None:
    assert time_decay_score(days_ago(age + 30), now=NOW) == pytest.approx(time_decay_score(days_ago(age), now=NOW) / 2)


@given(st.floats(min_value=0.01, max_value=1), st.lists(st.floats(min_value=0, max_value=300), max_size=8), ages)
def test_whenever_it_is_decayed_the_confidence_comes_out_the_same(
    confidence: float, moments: list[float], age: float
) -> None:
    """Weekly, twice in a row, or after months of standstill: what counts is the age."""
    stated = fact("user", "likes", "tea", days=age + 300, confidence=confidence)
    decayed = stated
    for moment in sorted(moments):
        decayed = EXACT.decayed(decayed, stated.recorded_at + timedelta(days=moment))
    end = stated.recorded_at + timedelta(days=300 + age)
    once = confidence * time_decay_score(stated.recorded_at, now=end)
    assert EXACT.decayed(decayed, end).confidence == pytest.approx(once)
    again = EXACT.decayed(EXACT.decayed(decayed, end), end)
    assert again == EXACT.decayed(decayed, end)


@given(st.floats(min_value=0, max_value=1), ages)
def test_with_the_defaults_it_is_off_by_no_more_than_a_step(confidence: float, age: float) -> None:
    decayed = RULES.decayed(fact("user", "likes", "tea", days=age, confidence=confidence), NOW)
    exact = confidence * time_decay_score(days_ago(age), now=NOW)
    assert exact - 1e-9 <= decayed.confidence <= exact + RULES.smallest_change + 1e-9


def test_a_use_stops_the_clock() -> None:
    used = fact("user", "likes", "tea", days=90, confidence=0.8, accessed_at=days_ago(30))
    assert RULES.decayed(used, NOW).confidence == pytest.approx(0.4)
    assert RULES.decayed(used.model_copy(update={"accessed_at": NOW}), NOW).confidence == 0.8


@pytest.mark.parametrize("predicate", sorted(LASTING))
def test_what_lasts_neither_decays_nor_is_archived(predicate: str) -> None:
    lasting = fact("user", predicate, "x", days=2_000, confidence=0.1)
    assert predicate in PREDICATES
    assert RULES.decayed(lasting, NOW) == lasting
    assert not RULES.is_archived(lasting, NOW)
    letter = MaintenanceRules(lasting=frozenset())
    decayed = letter.decayed(lasting, NOW)
    assert decayed.confidence < lasting.confidence
    assert letter.is_archived(decayed, NOW)


@pytest.mark.parametrize(
    ("days", "confidence", "archived"),
    [(90, 0.04, False), (90.1, 0.04, True), (90.1, 0.05, False), (400, 0.0, True), (10, 0.0, False)],
)
def test_the_old_and_unsure_is_archived(days: float, confidence: float, archived: bool) -> None:
    assert RULES.is_archived(fact("user", "likes", "tea", days=days, confidence=confidence), NOW) is archived


@pytest.mark.parametrize(
    ("stated", "days", "archived"),
    [(0.35, 89, False), (0.35, 91, True), (0.8, 119, False), (0.8, 121, True), (1.0, 129, False), (1.0, 131, True)],
)
def test_without_use_what_is_surer_is_archived_later(stated: float, days: float, archived: bool) -> None:
    unused = RULES.decayed(fact("user", "lives_in", "Leeds", days=days, confidence=stated), NOW)
    assert RULES.is_archived(unused, NOW) is archived


def test_only_what_is_active_changes() -> None:
    for status in (FactStatus.ARCHIVED, FactStatus.DELETED):
        gone = fact("user", "likes", "tea", days=500, confidence=0.2, status=status, accessed_at=NOW)
        assert (RULES.decayed(gone, NOW), RULES.promoted(gone, NOW)) == (gone, gone)
        assert not RULES.is_archived(gone, NOW)


def test_uses_raise_the_confidence_once() -> None:
    used = fact("user", "likes", "tea", days=50, confidence=0.5, accessed_at=days_ago(1), access_count=9)
    once = RULES.promoted(used, NOW)
    assert once.confidence == pytest.approx(0.55)
    assert once.promoted_at == days_ago(1)
    assert RULES.promoted(once, NOW) == once
    again = RULES.promoted(once.model_copy(update={"accessed_at": NOW}), NOW)
    assert again.confidence == pytest.approx(0.595)
    assert RULES.promoted(used.model_copy(update={"accessed_at": days_ago(8)}), NOW).confidence == 0.5
    assert RULES.promoted(used.model_copy(update={"accessed_at": None}), NOW).confidence == 0.5


@given(st.floats(min_value=0, max_value=1), st.floats(min_value=0, max_value=1))
def test_confidence_stays_between_0_and_1(confidence: float, promotion: float) -> None:
    used = fact("user", "likes", "tea", days=1, confidence=confidence, accessed_at=NOW)
    promoted = MaintenanceRules(promotion=promotion).promoted(used, NOW)
    assert confidence <= promoted.confidence <= 1
