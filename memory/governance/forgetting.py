"""Forgetting as an act: removes at once what a user asked in chat to forget (DESIGN §9).

Facts are emptied and deleted; memories, and entities of which nothing else tells, are deleted; the vector index follows
through the outbox. Log entries, sessions and files are left to erasure (`memory.ports.erasures`), whose requests are
recorded in the same transaction. Neither what was forgotten nor the request is written down.
"""

from collections.abc import Iterable, Sequence

from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity, EntitySource
from ..values.facts import Fact, FactStatus
from ..values.governance.changes import ChangeActor, ChangeKind, new_change
from ..values.governance.forgetting import ForgetOutcome, ForgetReport
from ..values.ids import memory_id
from ..values.records import Resource
from ..values.text import normalise
from .forget_search import MAX_SEARCHED, Meant


async def was_carried_out(unit: UnitOfWork, request: Resource) -> bool:
    """Whether something was removed because of this request before."""
    changes = await unit.changes.list(subject=request.resource_id, kind=ChangeKind.FORGET, limit=1)
    return any(len(change.subjects) > 1 for change in changes)


def report_of(meant: Meant) -> ForgetReport:
    """What becomes of a request that means this."""
    turns: dict[str, list[str]] = {}
    for message in meant.messages:
        turns.setdefault(message.session_id, []).append(message.resource_id)
    return ForgetReport(
        outcome=meant.outcome,
        things=meant.things,
        facts=len(meant.facts),
        memories=len(meant.memories),
        entities=len(meant.entities),
        turns={session_id: tuple(ids) for session_id, ids in turns.items()},
        kept=tuple(rest.memory.text for rest in meant.rests),
    )


async def forget(unit: UnitOfWork, request: Resource, meant: Meant) -> ForgetReport:
    """Removes what is meant and notes, by ids alone, that the user asked for it; the caller commits.

    What stays of a message is a new entry of the log, from which nothing is learned again: its facts hang on it now.
    """
    at = request.created_at
    for fact in meant.facts:
        emptied = dict.fromkeys(("subject_id", "object_id", "time", "details"), None) | {"subject": "", "object": ""}
        await unit.facts.update(fact.model_copy(update={**emptied, "status": FactStatus.DELETED, "updated_at": at}))
    for rest in meant.rests:
        await unit.log.append([rest.entry])
        await unit.log.mark_learned([rest.entry.resource_id])
        await unit.memories.save([rest.memory])
        for fact in rest.facts:
            await unit.facts.update(fact)
    said = [memory_id(request.user_id, message.resource_id) for message in meant.messages]
    await unit.memories.delete(list(dict.fromkeys([*(memory.memory_id for memory in meant.memories), *said])))
    entities = [*meant.entities, *await _without_evidence(unit, meant)]
    for entity in entities:
        relations = await unit.relations.of(entity.entity_id, limit=MAX_SEARCHED)
        await unit.relations.delete([relation.relation_id for relation in relations])
    await unit.entities.delete([entity.entity_id for entity in entities])
    gone = [*(entity.entity_id for entity in entities), *(fact.fact_id for fact in meant.facts)]
    await _forget_changes(unit, gone)
    await _forget_derived(unit, meant.facts)
    change = new_change(
        ChangeKind.FORGET,
        user_id=request.user_id,
        at=at,
        actor=ChangeActor.USER,
        reason="asked in chat" if meant.outcome is not ForgetOutcome.WHICH else "asked in chat; it was asked which",
        items=[],
        about=[
            request.resource_id,
            *(fact.fact_id for fact in meant.facts),
            *(message.resource_id for message in meant.messages),
        ],
    )
    await unit.changes.append([change])
    return report_of(meant).model_copy(update={"entities": len(entities)})


async def _without_evidence(unit: UnitOfWork, meant: Meant) -> list[Entity]:
    """The entities of what is forgotten that conversation has taught, of which no memory or fact tells any more."""
    asked = {entity.entity_id for entity in meant.entities}
    gone = {fact.fact_id for fact in meant.facts}
    named = {id_ for memory in meant.memories for id_ in memory.entity_ids}
    named |= {id_ for fact in meant.facts for id_ in (fact.subject_id, fact.object_id) if id_}
    if not named - asked:
        return []
    told = {
        id_
        for fact in await unit.facts.list(status=None, limit=MAX_SEARCHED)
        if fact.fact_id not in gone
        for id_ in (fact.subject_id, fact.object_id)
    }
    found = await unit.entities.get(sorted(named - asked - {id_ for id_ in told if id_}))
    return [
        entity
        for entity in found
        if entity.source is EntitySource.CONVERSATION and not await unit.memories.mentioning(entity.entity_id)
    ]


async def _forget_changes(unit: UnitOfWork, item_ids: Iterable[str]) -> None:
    """Deletes the changes of what is gone: they hold its former states."""
    for item_id in item_ids:
        changes = await unit.changes.list(subject=item_id, limit=MAX_SEARCHED)
        gone = [change.change_id for change in changes if change.kind is not ChangeKind.FORGET]
        await unit.erasure.delete(changes=gone)


async def _forget_derived(unit: UnitOfWork, facts: Sequence[Fact]) -> None:
    """Drops the edges of the facts, and empties the summaries that may quote them."""
    names = {fact.category for fact in facts}
    for category in await unit.categories.list() if names else ():
        if category.name in names:
            await unit.categories.upsert(category.model_copy(update={"summary": "", "digest": ""}))
    said = {(normalise(fact.subject), normalise(fact.predicate), normalise(fact.object)) for fact in facts}
    edges = await unit.graph.list_all() if said else []
    staying = [
        edge
        for edge in edges
        if (normalise(edge.subject), normalise(edge.predicate), normalise(edge.object)) not in said
    ]
    if len(staying) < len(edges):
        await unit.graph.delete_all()
        await unit.graph.create_many(staying)
