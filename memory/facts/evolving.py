"""How a statement changes what is known: the state machine of 002 §3.3, conflicts of 001 §3.3, validity intervals.

Nothing is destroyed: a fact that holds no longer is archived with its interval, the reason and the log entry that said
so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..values.entities import raised_confidence
from ..values.facts import Ending, Fact, FactStatus, MemoryDetails
from ..values.ids import fact_id
from ..values.predicates import EVENTS, ONE_VALUED, SCHEDULES
from ..values.text import fold_lower
from ..values.understanding.readings import OVER, Qualifier
from .periods import period_of
from .statements import Statement, bare_name, has_part, says_same

SURE = 0.6
"""From this confidence a newer value replaces an older one, however sure that is (002 §1.1); below only a less sure one
(001 §3.3).
"""

_INTENTIONS = frozenset({"plans", "travels_to"})
_CLOSING = frozenset({*OVER, Qualifier.NEGATED})


@dataclass
class Evolution:
    """The facts that a statement changes, in their new form, by id.

    Args:
        facts: New and changed facts.
        ended: Ids of facts that were true and are so no longer: what hangs on them is in doubt.
        restored: Ids of facts that hold again, as what had replaced them was wrong.
        told: Ids of facts that say what the statement says.
    """

    facts: dict[str, Fact] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def put(self, fact: Fact) -> None:
        """Adds or replaces a fact."""
        self.facts[fact.fact_id] = fact


def evolve(statement: Statement, known: Sequence[Fact]) -> Evolution:
    """What a statement changes.

    Args:
        statement: What is said.
        known: The facts of its subject and predicate, of any status, latest first: those that state its object, the
            current ones of a one-valued predicate, those whose place they took, and the latest, which it may name.
    """
    timeline = [fact for fact in known if fact.status is not FactStatus.DELETED]
    evolution = Evolution()
    if _is_repeated(statement, timeline):
        return evolution
    qualifiers = statement.qualifiers
    if Qualifier.ENDED in qualifiers:
        _end(evolution, statement, timeline)
    elif Qualifier.NEGATED in qualifiers:
        _deny(evolution, statement, timeline)
    elif Qualifier.PAST in qualifiers:
        _note_past(evolution, statement, timeline)
    else:
        _assert(evolution, statement, timeline)
    return evolution


def _is_repeated(statement: Statement, timeline: Sequence[Fact]) -> bool:
    """Whether this entry has said this already."""
    return any(
        says_same(fact, statement)
        and (
            statement.resource_id in fact.evidence
            or (statement.resource_id == fact.resource_id and fact.qualifiers == statement.qualifiers)
            or (statement.resource_id == fact.ended_by and not {*statement.qualifiers}.isdisjoint(_CLOSING))
        )
        for fact in timeline
    )


def _assert(evolution: Evolution, statement: Statement, timeline: Sequence[Fact]) -> None:
    """States that something is so, or is planned."""
    is_plan = Qualifier.PLANNED in statement.qualifiers
    for denied in _active(timeline, negated=True):
        if says_same(denied, statement):
            _close(evolution, denied, statement, Ending.REPLACED, at=statement.start)
    alike = [fact for fact in timeline if says_same(fact, statement) and not fact.is_negated]
    told = next((fact for fact in [*_active(alike), *filter(_sleeps, alike)]), None)
    rivals = _rivals(statement, timeline, planned=is_plan)
    fact = _confirmed(told, statement) if told else _following(new_fact(statement), timeline)
    for rival in rivals:
        fact = _replace(evolution, fact, rival, statement, is_known=told is not None)
    evolution.put(fact)
    evolution.told.append(fact.fact_id)


def _is_one(statement: Statement) -> bool:
    return statement.predicate in ONE_VALUED


def _following(fact: Fact, timeline: Sequence[Fact]) -> Fact:
    """A new value that follows one that has ended: it begins where that ends, unless it says when."""
    over = [
        earlier
        for earlier in timeline
        if earlier.ending in (Ending.ENDED, Ending.REPLACED) and not earlier.is_negated and earlier.valid_to is not None
    ]
    if fact.predicate not in ONE_VALUED or fact.valid_from is not None or fact.is_planned or not over:
        return fact
    last = max(over, key=lambda earlier: earlier.valid_to or earlier.updated_at)
    return fact.model_copy(update={"valid_from": last.valid_to, "supersedes": last.fact_id})


def _rivals(statement: Statement, timeline: Sequence[Fact], *, planned: bool) -> list[Fact]:
    """The active facts that cannot be true beside the statement, oldest first.

    Plans compete with plans alone; of a many-valued predicate only what a correction names gives way.
    """
    others = [fact for fact in _active(timeline, planned=planned) if not says_same(fact, statement)]
    if not _is_one(statement):
        named = [fact for fact in others if statement.corrects and _is_named(fact, statement)]
        return sorted(named, key=lambda fact: fact.recorded_at)
    return sorted(others, key=lambda fact: fact.recorded_at)


def _is_named(fact: Fact, statement: Statement) -> bool:
    return fold_lower(bare_name(fact.object)) in statement.message and fact.resource_id != statement.resource_id


def _replace(evolution: Evolution, fact: Fact, rival: Fact, statement: Statement, *, is_known: bool) -> Fact:
    """The fact after it took the place of a rival, or was put beside it as a conflict."""
    is_beside = rival.resource_id == statement.resource_id and rival.fact_id != fact.fact_id
    if is_beside and not any(qualifier in OVER for qualifier in rival.qualifiers):
        return fact  # two values in one message are not a change, unless one is said to be over
    if statement.corrects:
        _close(evolution, rival, statement, Ending.RETRACTED)
        begin = statement.start or (fact.valid_from if is_known else rival.valid_from)
        inherited = rival.supersedes if rival.supersedes != fact.fact_id else None
        return fact.model_copy(
            update={"valid_from": begin, "supersedes": fact.supersedes or inherited or rival.fact_id}
        )
    if not is_beside and fact.confidence < min(rival.confidence, SURE):
        evolution.put(_disputed(rival, fact, statement.said_at))
        return _disputed(fact, rival, statement.said_at)
    if (
        statement.start
        and rival.valid_from
        and statement.start < rival.valid_from
        and statement.said_at < rival.recorded_at
    ):
        # Learned late: what was said since stands.
        return fact.model_copy(
            update={
                "status": FactStatus.ARCHIVED,
                "valid_to": rival.valid_from,
                "ending": Ending.REPLACED,
                "ended_by": rival.resource_id,
            }
        )
    begin = statement.start or statement.said_at
    _close(evolution, rival, statement, Ending.REPLACED, at=begin)
    undisputed = tuple(id_ for id_ in fact.conflicts_with if id_ != rival.fact_id)
    return fact.model_copy(
        update={
            "supersedes": rival.fact_id if not is_known else fact.supersedes,
            "valid_from": begin if not is_known else fact.valid_from,
            "conflicts_with": undisputed,
        }
    )


def _end(evolution: Evolution, statement: Statement, timeline: Sequence[Fact]) -> None:
    """States that something is so no longer."""
    held = ending_facts(statement, timeline)
    if not held:
        if not any(says_same(fact, statement) and fact.ending for fact in timeline):
            _note_past(evolution, statement, [])
        return
    for fact in held:
        _end_or_retract(evolution, fact, statement, timeline)
        evolution.told.append(fact.fact_id)


def _end_or_retract(evolution: Evolution, fact: Fact, statement: Statement, timeline: Sequence[Fact]) -> None:
    """Closes a fact that holds no longer, or never did where this is a correction."""
    if not statement.corrects:
        _close(evolution, fact, statement, Ending.ENDED, at=statement.start)
        return
    _close(evolution, fact, statement, Ending.RETRACTED)
    _restore_replaced(evolution, fact, timeline, at=statement.said_at)


def _deny(evolution: Evolution, statement: Statement, timeline: Sequence[Fact]) -> None:
    """States that something is not so: it ends, or was never so where this is a correction."""
    held = [fact for fact in _active(timeline) if says_same(fact, statement)]
    for fact in held:
        _end_or_retract(evolution, fact, statement, timeline)
    if held and _is_one(statement):
        return
    denied = next((fact for fact in _active(timeline, negated=True) if says_same(fact, statement)), None)
    fact = _confirmed(denied, statement) if denied else new_fact(statement)
    if held and not statement.corrects:
        fact = fact.model_copy(update={"valid_from": statement.start or statement.said_at})
    evolution.put(fact)
    evolution.told.append(fact.fact_id)


def _note_past(evolution: Evolution, statement: Statement, timeline: Sequence[Fact]) -> None:
    """States that something was so, or happened."""
    if statement.predicate in EVENTS | SCHEDULES:
        _assert(evolution, statement, timeline)
        return
    until = statement.end or (statement.start if Qualifier.ENDED in statement.qualifiers else None) or statement.said_at
    begin = statement.start if statement.end else None
    held = [fact for fact in _active(timeline) if says_same(fact, statement)]
    for fact in held:
        _close(evolution, fact, statement, Ending.ENDED, at=until)
    if held:
        return
    past = new_fact(statement).model_copy(
        update={
            "status": FactStatus.ARCHIVED,
            "valid_from": begin,
            "valid_to": min(until, statement.said_at),
            "ending": Ending.ENDED,
            "ended_by": statement.resource_id,
        }
    )
    evolution.put(past)
    evolution.told.append(past.fact_id)
    for fact in _rivals(statement, timeline, planned=False) if _is_one(statement) and statement.end else ():
        if fact.valid_from is None:
            evolution.put(fact.model_copy(update={"valid_from": past.valid_to, "updated_at": statement.said_at}))


def _close(
    evolution: Evolution, fact: Fact, statement: Statement, ending: Ending, *, at: datetime | None = None
) -> None:
    """Closes a fact because of a statement, at its date where it names no time."""
    _archive(evolution, fact, ending, by=statement.resource_id, said_at=statement.said_at, at=at)


def _archive(
    evolution: Evolution, fact: Fact, ending: Ending, *, by: str, said_at: datetime, at: datetime | None = None
) -> None:
    """Archives a fact with the end of its interval; one that was never true keeps the interval that was believed."""
    if ending is Ending.ENDED and (fact.is_planned or fact.predicate in _INTENTIONS):
        ending = Ending.CANCELLED
    update: dict[str, object] = {
        "status": FactStatus.ARCHIVED,
        "ending": ending,
        "ended_by": by,
        "conflicts_with": (),
        "doubtful_since": None,
        "doubted_by": None,
        "updated_at": said_at,
    }
    if ending is not Ending.RETRACTED:
        update["valid_to"] = period_of(fact).until(at or said_at).end
        if not fact.is_planned and not fact.is_negated:
            evolution.ended.append(fact.fact_id)
    evolution.put(fact.model_copy(update=update))


def withdraw(facts: Sequence[Fact], known: Sequence[Fact], ending: Ending, *, by: str, at: datetime) -> Evolution:
    """Ends facts without a statement of the same predicate: taken back as wrong, or called off.

    Args:
        facts: They.
        known: The facts whose place they may have taken, which hold again where they are wrong.
        ending: RETRACTED or CANCELLED.
        by: The log entry that says so.
        at: Its date.
    """
    evolution = Evolution()
    for fact in facts:
        _archive(evolution, fact, ending, by=by, said_at=at)
        if ending is Ending.RETRACTED:
            _restore_replaced(evolution, fact, known, at=at)
    return evolution


def _restore_replaced(evolution: Evolution, wrong: Fact, timeline: Sequence[Fact], *, at: datetime) -> None:
    """Makes the fact hold again whose place the wrong one took (002 §3.3, reactivate)."""
    for fact in timeline:
        if fact.fact_id == wrong.supersedes and fact.ending is Ending.REPLACED:
            evolution.put(reactivated(fact, at=at))
            evolution.restored.append(fact.fact_id)


def reactivated(fact: Fact, *, at: datetime) -> Fact:
    """An archived fact that holds again, as if it had never ended (002 §3.3)."""
    update = {"status": FactStatus.ACTIVE, "valid_to": None, "ending": None, "ended_by": None, "updated_at": at}
    return superseded(fact.model_copy(update=update), by=None)


def superseded(fact: Fact, *, by: str | None) -> Fact:
    """A fact with the one that took its place as 001 links it; None for none."""
    details = fact.details or MemoryDetails()
    if details.superseded_by == by:
        return fact
    details = details.model_copy(update={"superseded_by": by})
    return fact.model_copy(update={"details": None if details == MemoryDetails() else details})


def _confirmed(fact: Fact, statement: Statement) -> Fact:
    """A known fact after it was said again: surer, without a doubt; a plan that came true begins."""
    qualifiers = set(fact.qualifiers)
    begin = fact.valid_from if statement.start is None else statement.start
    if fact.is_planned and Qualifier.PLANNED not in statement.qualifiers:
        qualifiers.discard(Qualifier.PLANNED)
        begin = statement.start or min(filter(None, (fact.valid_from, statement.said_at)))
    if Qualifier.HEDGED not in statement.qualifiers:
        qualifiers.discard(Qualifier.HEDGED)
    return fact.model_copy(
        update={
            "status": FactStatus.ACTIVE,
            "confidence": raised_confidence(fact.confidence, statement.confidence),
            "evidence": (*fact.evidence, statement.resource_id),
            "qualifiers": tuple(qualifier for qualifier in Qualifier if qualifier in qualifiers),
            "valid_from": begin,
            "doubtful_since": None,
            "doubted_by": None,
            "updated_at": max(fact.updated_at, statement.said_at),
        }
    )


def new_fact(statement: Statement) -> Fact:
    """The fact of a statement that says something new."""
    qualified = sorted(statement.qualifiers)  # "I eat pork" and "I don't eat pork" of one entry are two facts
    object_ = "\x1f".join([statement.object, *(q for q in qualified if q in _CLOSING)])
    return Fact(
        fact_id=fact_id(statement.user_id, statement.resource_id, statement.subject, statement.predicate, object_),
        user_id=statement.user_id,
        resource_id=statement.resource_id,
        subject=statement.subject,
        predicate=statement.predicate,
        object=statement.object,
        category=statement.category.value,
        confidence=statement.confidence,
        valid_from=statement.start,
        valid_to=statement.end,
        subject_id=statement.subject_id,
        object_id=statement.object_id,
        qualifiers=statement.qualifiers,
        time=statement.time,
        recorded_at=statement.said_at,
        updated_at=statement.said_at,
    )


def _disputed(fact: Fact, rival: Fact, at: datetime) -> Fact:
    conflicts = tuple(dict.fromkeys((*fact.conflicts_with, rival.fact_id)))
    return fact.model_copy(update={"conflicts_with": conflicts, "updated_at": max(fact.updated_at, at)})


def ending_facts(statement: Statement, timeline: Sequence[Fact]) -> list[Fact]:
    """The active facts of the object that has ended; where there is none, the only one that has a part of its name."""
    active = _active(timeline)
    same = [fact for fact in active if says_same(fact, statement)]
    partly = [fact for fact in active if has_part(fact.object, statement.object)]
    return same or (partly if len(partly) == 1 else [])


def _active(timeline: Iterable[Fact], *, negated: bool = False, planned: bool | None = None) -> list[Fact]:
    """The active facts that say that something is so, or with `negated` that it is not so.

    Args:
        timeline: Facts of any status.
        negated: See above.
        planned: True for plans alone, False for none, None for both.
    """
    return [
        fact
        for fact in timeline
        if fact.status is FactStatus.ACTIVE
        and fact.is_negated is negated
        and (planned is None or fact.is_planned is planned)
    ]


def _sleeps(fact: Fact) -> bool:
    """Whether a job archived it, though nobody said that it is over."""
    return fact.status is FactStatus.ARCHIVED and fact.ending is None
