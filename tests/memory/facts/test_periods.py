"""The algebra of validity intervals, and what every history of a fact keeps."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.facts.evolving import evolve
from memory.facts.periods import facts_at, period_of
from memory.facts.statements import Statement
from memory.values.facts import Ending, Fact, FactStatus
from memory.values.periods import Period
from memory.values.predicates import CategoryName
from memory.values.understanding.readings import Qualifier

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def moment(days: int) -> datetime:
    return EPOCH + timedelta(days=days)


moments = st.integers(0, 60).map(moment)
periods = st.builds(Period, st.none() | moments, st.none() | moments)


@given(periods, moments, moments)
def test_a_period_until_a_moment_is_its_part_before_that(period: Period, end: datetime, at: datetime) -> None:
    cut = period.until(end)
    assert cut.holds(at) == (period.holds(at) and at < end)


@given(periods, periods, moments)
def test_two_periods_overlap_wherever_both_hold(left: Period, right: Period, at: datetime) -> None:
    assert left.overlaps(right) == right.overlaps(left)
    if left.holds(at) and right.holds(at):
        assert left.overlaps(right)


@given(periods, moments)
def test_an_empty_period_holds_nothing(period: Period, at: datetime) -> None:
    assert not (period.is_empty and period.holds(at))


@st.composite
def histories(draw: st.DrawFn, qualified: bool = True) -> list[Statement]:
    """What a user says of one thing, day after day."""
    statements = []
    days = 0
    for number in range(draw(st.integers(1, 8))):
        days += draw(st.integers(1, 9))
        marks = (
            draw(st.sampled_from(["", "", "", "ended", "negated", "planned", "hedged", "past"])) if qualified else ""
        )
        back = draw(st.none() | st.integers(0, 12))
        statements.append(
            Statement(
                user_id="ann",
                resource_id=f"r{number}",
                subject="user",
                predicate="lives_in",
                object=draw(st.sampled_from(["板橋", "Leeds", "苏州"])),
                category=CategoryName.FACTS,
                qualifiers=(Qualifier(marks),) if marks else (),
                start=None if back is None else moment(days - back),
                said_at=moment(days),
                confidence=0.55 if marks == "hedged" else 0.95,
                corrects=qualified and draw(st.booleans()) and marks in ("", "negated"),
            )
        )
    return statements


def told(statements: list[Statement]) -> list[dict[str, Fact]]:
    """The facts after each statement."""
    facts: dict[str, Fact] = {}
    states = []
    for statement in statements:
        facts = facts | evolve(statement, list(facts.values())).facts
        states.append(facts)
    return states


@settings(max_examples=300)
@given(histories())
def test_nothing_is_destroyed_by_a_change(statements: list[Statement]) -> None:
    before: dict[str, Fact] = {}
    for after in told(statements):
        for fact_id, fact in before.items():
            kept = after[fact_id]
            assert (kept.object, kept.resource_id, kept.recorded_at) == (
                fact.object,
                fact.resource_id,
                fact.recorded_at,
            )
            assert set(fact.evidence) <= set(kept.evidence)
        before = after


@settings(max_examples=300)
@given(histories())
def test_an_interval_never_ends_before_it_begins_and_what_is_over_says_why(statements: list[Statement]) -> None:
    for fact in told(statements)[-1].values():
        assert fact.valid_from is None or fact.valid_to is None or fact.valid_from <= fact.valid_to
        assert (fact.status is FactStatus.ACTIVE) == (fact.ending is None)


@settings(max_examples=300)
@given(histories(), st.integers(-5, 80))
def test_a_one_valued_predicate_has_one_value_at_any_time(statements: list[Statement], days: int) -> None:
    holding = facts_at(told(statements)[-1].values(), moment(days))
    assert len([fact for fact in holding if not fact.is_negated and not fact.conflicts_with]) <= 1


@settings(max_examples=300)
@given(histories(qualified=False))
def test_what_was_said_last_is_true_now(statements: list[Statement]) -> None:
    [now] = facts_at(told(statements)[-1].values(), statements[-1].said_at)
    assert now.object == statements[-1].object


@settings(max_examples=300)
@given(histories())
def test_learning_an_entry_twice_changes_nothing(statements: list[Statement]) -> None:
    facts = told(statements)[-1]
    assert evolve(statements[-1], list(facts.values())).facts == {}


@given(histories())
def test_a_retracted_fact_never_held(statements: list[Statement]) -> None:
    for fact in told(statements)[-1].values():
        if fact.ending is Ending.RETRACTED:
            assert not any(fact.holds(moment(days)) for days in range(80))
        assert period_of(fact) == Period(fact.valid_from, fact.valid_to)
