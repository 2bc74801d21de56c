"""Leaves placeholders of what a decision anonymises, where an erasure would delete (004 §7.3)."""

from ..ports.stores.record import UnitOfWork
from ..values.governance.decisions import anonymised_fact, anonymised_memory, anonymised_resource
from .effects import Effects
from .selection import Selection


async def leave_placeholders(unit: UnitOfWork, selection: Selection, effects: Effects) -> None:
    """Turns the deletion of the selection's placeholders, of their memories and of their facts into rewriting.

    All else that follows from an erasure stays: entities that only they named, relations, edges, summaries, quotes,
    changes and points of the index go as they do with messages that are deleted.
    """
    placeholders = selection.placeholders
    if not placeholders:
        return
    messages = [id_ for id_ in effects.messages if id_ in placeholders]
    memories = [
        memory
        for memory in await unit.memories.get(effects.memories)
        if placeholders & {memory.memory_id, memory.resource_id}
    ]
    facts = [
        fact for fact in await unit.facts.get_many(effects.facts) if placeholders & {fact.fact_id, fact.resource_id}
    ]
    for id_ in messages:
        effects.rewrite(selection.messages[id_], anonymised_resource(selection.messages[id_]))
    for memory in memories:
        effects.rewrite(memory, anonymised_memory(memory))
    for fact in facts:
        effects.rewrite(fact, anonymised_fact(fact))
    stay = {*messages, *(memory.memory_id for memory in memories), *(fact.fact_id for fact in facts)}
    effects.messages = [id_ for id_ in effects.messages if id_ not in stay]
    effects.memories = [id_ for id_ in effects.memories if id_ not in stay]
    effects.facts = [id_ for id_ in effects.facts if id_ not in stay]
