"""How the facts of one subject and predicate stand at the time that a question asks about."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from ..language.times import resolve_time
from ..values.facts import Doubt, Ending, Fact, Standing, Validity
from ..values.predicates import DATED, EVENTS, ONE_VALUED, SCHEDULES
from .asked_times import AskedTime
from .periods import period_of

Standings = dict[str, Standing]
"""By id of the fact."""


def is_current(fact: Fact, now: datetime) -> bool:
    """Whether nothing is known by which it is over; a plan or an event is not over because its time has passed."""
    return fact.ending is None and not (_is_state(fact) and fact.valid_to is not None and fact.valid_to <= now)


def is_told(fact: Fact, now: datetime) -> bool:
    """Whether a context or a summary tells a fact.

    What is over is not told, nor is a plan whose time has passed since it was made: nobody has said what became of it.
    """
    if not is_current(fact, now):
        return False
    due = _due(fact) if fact.is_planned or fact.predicate in SCHEDULES - DATED else None
    return due is None or due <= fact.recorded_at or now < due


def standings_of(timeline: Sequence[Fact], asked: AskedTime | None, now: datetime) -> Standings:
    """How facts stand; asked about an earlier time of which nothing is known, as they stand now.

    Args:
        timeline: The facts of one subject and predicate, of any status but deleted.
        asked: The earlier time that is asked about; None for now.
        now: The time of the question.
    """
    current = [fact for fact in timeline if is_current(fact, now)]
    if asked is None:
        ids = {fact.fact_id for fact in current}
        return {fact.fact_id: _standing_now(fact, ids) for fact in timeline}
    held = _held(timeline, asked, now)
    if asked.period is None and not held:
        return standings_of(timeline, None, now)
    timeless = [fact for fact in current if not _is_state(fact)] if asked.period else []
    standings = dict.fromkeys((fact.fact_id for fact in timeline), Standing.OUTDATED)
    standings |= dict.fromkeys((fact.fact_id for fact in timeless), Standing.HOLDS)
    return standings | dict.fromkeys((fact.fact_id for fact in held), Standing.HELD)


def validity_of(fact: Fact, standing: Standing, *, changed: Fact | None = None) -> Validity:
    """What is said of a fact with a memory that states it.

    Args:
        fact: It.
        standing: Its own.
        changed: The fact whose end put it in doubt.
    """
    doubt = None
    if standing is Standing.DOUBTFUL and changed is not None and fact.doubtful_since is not None:
        doubt = Doubt(
            subject=changed.subject, predicate=changed.predicate, object=changed.object, told_at=fact.doubtful_since
        )
    return Validity(
        fact_id=fact.fact_id,
        subject=fact.subject,
        predicate=fact.predicate,
        object=fact.object,
        standing=standing,
        valid_from=fact.valid_from,
        valid_to=None if _is_told_as_past(fact) else fact.valid_to,
        ending=fact.ending,
        conflicts_with=fact.conflicts_with,
        doubt=doubt,
    )


def entries_instead(fact: Fact, timeline: Sequence[Fact], standings: Standings) -> list[str]:
    """The log entries that state what is to be said instead of a fact that is OUTDATED, best first.

    Those of the facts of its timeline that are no answer either are not among them; where nothing took its place, the
    entry that ended it.
    """
    answers = [other for other in timeline if standings[other.fact_id] is not Standing.OUTDATED]
    if fact.predicate not in ONE_VALUED:
        answers = [other for other in answers if other.supersedes == fact.fact_id or other.resource_id == fact.ended_by]
    answers.sort(key=lambda other: (other.valid_to or other.updated_at, other.recorded_at), reverse=True)
    if answers:
        latest = answers[0]
        return [latest.resource_id, *(other.resource_id for other in answers if other.fact_id in latest.conflicts_with)]
    if fact.ended_by is None or fact.ending is Ending.RETRACTED or _is_told_as_past(fact):
        return []
    return [fact.ended_by]


def _due(fact: Fact) -> datetime | None:
    """When the time of a plan has passed; None where it has none. What is to begin "in March" may begin until April."""
    if fact.valid_to is not None or fact.valid_from is None:
        return fact.valid_to
    said = resolve_time(fact.time, fact.recorded_at, ahead=True) if fact.time else None
    return (said.end if said else None) or fact.valid_from


def _is_state(fact: Fact) -> bool:
    return fact.predicate not in EVENTS | SCHEDULES and not fact.is_planned


def _is_told_as_past(fact: Fact) -> bool:
    """Whether the message that states it says that it is over ("I used to live in Leeds")."""
    return fact.ended_by == fact.resource_id


def _standing_now(fact: Fact, current: AbstractSet[str]) -> Standing:
    if fact.fact_id in current:
        return Standing.DOUBTFUL if fact.doubtful_since is not None else Standing.HOLDS
    if _is_told_as_past(fact) and (fact.predicate not in ONE_VALUED or not current):
        return Standing.HOLDS  # its own words say that it is past
    return Standing.OUTDATED


def _held(timeline: Sequence[Fact], asked: AskedTime, now: datetime) -> list[Fact]:
    """The facts that held at the earlier time; those known only since then do not count where others are."""
    so = [fact for fact in timeline if fact.ending is not Ending.RETRACTED]
    period = asked.period
    if period is None:
        return [fact for fact in so if not is_current(fact, now)]
    held = [fact for fact in so if _is_state(fact) and period_of(fact).overlaps(period)]
    known = [
        fact for fact in held if fact.valid_from is not None or period.end is None or fact.recorded_at < period.end
    ]
    return known or held
