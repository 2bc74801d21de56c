"""Saves the facts that the log states: extract → classify → resolve conflicts → save → queue vectors (002 §4.1).

The entry that states a fact is its evidence. Repositories queue every changed fact for the vector index.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from ..entities.lookup import find_by_name
from ..facts.cancelling import event_called_off, plans_of
from ..facts.dependents import ENDS, doubted, find_car, find_dependents, ground_of, means_any_car, undoubted
from ..facts.evolving import Evolution, ending_facts, evolve, superseded, withdraw
from ..facts.relatives import find_relative
from ..facts.statements import (
    Statement,
    bare_name,
    says_same,
    statements_of,
    takes_back,
)
from ..ports.stores.record import UnitOfWork
from ..ports.stores.typed_memories import is_typed_memory, typed_memory_of
from ..values.facts import SPEAKER, Ending, Fact, FactStatus
from ..values.governance.changes import Change, ChangeActor, ChangedItem, ChangeKind, new_change
from ..values.predicates import ONE_VALUED
from ..values.records import Resource, ResourceKind
from ..values.understanding.dialogue import Role
from ..values.understanding.readings import Qualifier
from .learned_turns import LearnedTurn

MIN_CONFIDENCE = 0.3
"""What the reader is less sure of is not kept."""
MAX_TIMELINE = 200
"""Latest facts of a subject and predicate that a statement is compared with, besides those that state its object."""
MAX_DOUBTED = 2_000
"""Latest active facts that are looked through for those that hang on a changed one."""
_EARLIER_TURNS = 8
_SAID_LATER = "後來的說法取代了先前的 / what was said later took the place of what was said before"


async def save_facts(unit: UnitOfWork, turns: Sequence[LearnedTurn]) -> int:
    """Saves what the turns state, in the order of the log; the caller commits.

    Returns:
        The number of facts that were added, changed or confirmed.
    """
    saved: set[str] = set()
    for turn in turns:
        if takes_back(turn.resource, turn.extraction):
            saved |= await _take_back(unit, turn.resource)
        if not turn.tells or turn.resource.kind is ResourceKind.FACT:
            continue
        for statement in _in_order(statements_of(turn.resource, turn.extraction)):
            if statement.confidence >= MIN_CONFIDENCE:
                saved |= await _save_statement(unit, statement)
        saved |= await _call_off(unit, turn.resource)
    return len(saved)


def _in_order(statements: Iterable[Statement]) -> list[Statement]:
    """The statements of one entry, what has ended before what holds now."""
    closing = {Qualifier.ENDED, Qualifier.NEGATED, Qualifier.PAST}
    return sorted(statements, key=lambda statement: closing.isdisjoint(statement.qualifiers))


async def _save_statement(unit: UnitOfWork, statement: Statement) -> set[str]:
    statement = await _linked(unit, statement)
    evolution = evolve(statement, await _timeline(unit, statement))
    await _end_possession(unit, statement, evolution)
    await _save(unit, evolution)
    return set(evolution.facts)


async def _timeline(unit: UnitOfWork, statement: Statement) -> list[Fact]:
    """What a statement can change, latest first; where there is little, all facts of its subject and predicate."""
    subject, predicate = statement.subject, statement.predicate
    latest = await unit.facts.history(subject, predicate, limit=MAX_TIMELINE)
    if len(latest) < MAX_TIMELINE:
        return latest
    names = [statement.object]
    for entity in await unit.entities.get([statement.object_id]) if statement.object_id else ():
        names += [entity.entity_value, *entity.aliases]
    same = await unit.facts.stating(subject, predicate, names)
    replaced = await unit.facts.get_many([fact.supersedes for fact in same if fact.supersedes])
    current = await unit.facts.find_potential_conflicts(subject, predicate) if predicate in ONE_VALUED else []
    known = {fact.fact_id: fact for fact in (*latest, *same, *replaced, *current)}
    ordered = sorted(known.values(), key=lambda fact: fact.fact_id)
    return sorted(ordered, key=lambda fact: fact.recorded_at, reverse=True)


async def _take_back(unit: UnitOfWork, resource: Resource) -> set[str]:
    """Retracts what the user's message before this one stated."""
    turns = await unit.log.session(resource.session_id, limit=_EARLIER_TURNS, before=resource.sequence)
    last = next((turn.resource_id for turn in reversed(turns) if turn.role is Role.USER and turn.learn), None)
    active = await unit.facts.list(limit=MAX_DOUBTED)
    wrong = [fact for fact in active if fact.resource_id == last]
    replaced = await unit.facts.get_many([fact.supersedes for fact in wrong if fact.supersedes])
    evolution = withdraw(wrong, replaced, Ending.RETRACTED, by=resource.resource_id, at=resource.created_at)
    await _save(unit, evolution)
    return set(evolution.facts)


async def _call_off(unit: UnitOfWork, resource: Resource) -> set[str]:
    """Cancels the plans that a message says will not take place."""
    event = event_called_off(resource.content)
    known = await unit.facts.list(limit=MAX_DOUBTED) if event else []
    off = plans_of(event, [fact for fact in known if fact.resource_id != resource.resource_id])
    evolution = withdraw(off, [], Ending.CANCELLED, by=resource.resource_id, at=resource.created_at)
    await _save(unit, evolution)
    return set(evolution.facts)


async def _linked(unit: UnitOfWork, statement: Statement) -> Statement:
    """The statement with the current names and ids of the entities that it is about."""
    update: dict[str, str] = {}
    if statement.subject != SPEAKER:
        relative = await find_relative(unit, statement.subject)
        subject = bare_name(relative.object) if relative else statement.subject
        entity = await find_by_name(unit, subject)
        update["subject"] = entity.entity_value if entity else subject
        if entity is not None:
            update["subject_id"] = entity.entity_id
    entity = await find_by_name(unit, statement.object)
    if entity is not None:
        update["object_id"] = entity.entity_id
    return statement.model_copy(update=update)


async def _end_possession(unit: UnitOfWork, statement: Statement, evolution: Evolution) -> None:
    """Ends owning and using what was sold, lost or replaced."""
    predicates = ENDS.get(statement.predicate, ())
    if not predicates or not {Qualifier.NEGATED, Qualifier.PLANNED}.isdisjoint(statement.qualifiers):
        return
    is_replaced = statement.predicate == "replaced_by"
    subject, thing = (SPEAKER, statement.subject) if is_replaced else (statement.subject, statement.object)
    over = {
        "subject": subject,
        "object": thing,
        "object_id": statement.subject_id if is_replaced else statement.object_id,
        "qualifiers": (Qualifier.ENDED,),
    }
    endings = [statement.model_copy(update=over | {"predicate": predicate}) for predicate in predicates]
    timelines = [await _timeline(unit, ending) for ending in endings]
    is_car = means_any_car(thing)
    car = find_car(itertools.chain(*timelines)) if is_car else None
    for ending, timeline in zip(endings, timelines, strict=True):
        meant = ending.model_copy(update={"object": car.object, "object_id": car.object_id}) if car else ending
        if any(says_same(fact, meant) or not is_car for fact in ending_facts(meant, timeline)):
            ended = evolve(meant, timeline)
            evolution.facts |= ended.facts
            evolution.ended += ended.ended


async def _save(unit: UnitOfWork, evolution: Evolution) -> None:
    """Stores what changed, logs what was replaced, and puts in doubt what hangs on it."""
    known = {fact.fact_id: fact for fact in await unit.facts.get_many(list(evolution.facts))}
    changes = _replacements(evolution, known)
    for fact in evolution.facts.values():
        if fact.fact_id in known:
            await unit.facts.update(fact)
    await unit.facts.create_many([fact for fact in evolution.facts.values() if fact.fact_id not in known])
    await unit.changes.append(changes)
    await _doubt_dependents(unit, evolution)


def _replacements(evolution: Evolution, known: Mapping[str, Fact]) -> list[Change]:
    """The values that took the place of others, which are linked to them; an undo puts both in review (001 §3.3)."""
    changes: list[Change] = []
    for fact in [*evolution.facts.values()]:
        replaced = [known[id_] for id_, old in evolution.facts.items() if _takes_place(fact, old, known.get(id_))]
        if not replaced:
            continue
        items: list[ChangedItem] = []
        for old in replaced:
            evolution.put(superseded(evolution.facts[old.fact_id], by=fact.fact_id))
            items.append(ChangedItem.of(typed_memory_of(old), typed_memory_of(evolution.facts[old.fact_id])))
        memory = typed_memory_of(fact)
        earlier = typed_memory_of(known[fact.fact_id]).supersedes if fact.fact_id in known else ()
        disputed = memory.disputed_by([typed_memory_of(old) for old in replaced])
        before = disputed.model_copy(update={"supersedes": earlier})
        change = new_change(
            ChangeKind.OVERWRITE,
            user_id=fact.user_id,
            at=fact.updated_at,
            actor=ChangeActor.SYSTEM,
            reason=_SAID_LATER,
            items=[ChangedItem.of(before, memory), *items],
        )
        changes.append(change)
    return changes


def _takes_place(fact: Fact, old: Fact, before: Fact | None) -> bool:
    """Whether a value that holds was stated by what ended another one, which held before."""
    return (
        before is not None
        and before.status is FactStatus.ACTIVE
        and is_typed_memory(before)
        and old.ending in (Ending.REPLACED, Ending.RETRACTED)
        and fact.status is FactStatus.ACTIVE
        and is_typed_memory(fact)
        and old.predicate == fact.predicate
        and old.ended_by in (fact.resource_id, *fact.evidence)
    )


async def _doubt_dependents(unit: UnitOfWork, evolution: Evolution) -> None:
    """Puts in doubt what hangs on facts that ended; lifts the doubt where they hold again."""
    grounds = [ground for ground in (ground_of(evolution.facts[fact_id]) for fact_id in evolution.ended) if ground]
    if not grounds and not evolution.restored:
        return
    active = await unit.facts.list(limit=MAX_DOUBTED)
    contents = await _contents(unit, active) if any(ground.is_place for ground in grounds) else {}
    changed: dict[str, Fact] = {}
    for ended in (evolution.facts[fact_id] for fact_id in evolution.ended):
        for fact in find_dependents(ended, active, lambda fact: contents.get(fact.resource_id, "")):
            changed.setdefault(fact.fact_id, doubted(fact, because=ended, at=ended.updated_at))
    for restored in (evolution.facts[fact_id] for fact_id in evolution.restored):
        for fact in active:
            if fact.doubted_by == restored.fact_id:
                changed[fact.fact_id] = undoubted(fact, at=restored.updated_at)
    for fact in changed.values():
        await unit.facts.update(fact)
    evolution.facts |= changed


async def _contents(unit: UnitOfWork, facts: Sequence[Fact]) -> dict[str, str]:
    resources = await unit.log.get(list(dict.fromkeys(fact.resource_id for fact in facts)))
    return {resource.resource_id: resource.content for resource in resources}
