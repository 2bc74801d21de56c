"""What hangs on an entity besides its own row: the memories that mention it and its relations."""

from collections.abc import Iterable, Mapping, Sequence

from ..extraction.rules.lexicon import ComparableText
from ..ports.record import UnitOfWork
from ..relations.patterns import RelationType
from ..relations.weights import observed
from ..values.changes import ChangedItem
from ..values.entities import EntityRelation
from ..values.ids import relation_id
from ..values.records import Memory
from ..values.text import normalise

_ALL = 2**31 - 1


def relinked(memory: Memory, links: Mapping[str, str | None]) -> Memory:
    """The memory with other ids in place of its entities' (None takes one out), each once, in their order."""
    ids = (links.get(one, one) for one in memory.entity_ids)
    return memory.model_copy(update={"entity_ids": tuple(dict.fromkeys(one for one in ids if one is not None))})


async def save_memories(unit: UnitOfWork, before: Sequence[Memory], after: Sequence[Memory]) -> list[ChangedItem]:
    """Saves the memories that changed; what happened to each."""
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    await unit.memories.save([new for _, new in changed])
    return [ChangedItem.of(old, new) for old, new in changed]


async def relations_of(unit: UnitOfWork, entity_id: str) -> list[EntityRelation]:
    """All relations of an entity."""
    return await unit.relations.of(entity_id, limit=_ALL)


async def move_relations(
    unit: UnitOfWork, relations: Iterable[EntityRelation], old: str, new: str
) -> list[ChangedItem]:
    """Puts one end of relations to another entity. One that is there already takes the other up; one that would lead
    from an entity to itself is dropped.

    Returns:
        What happened to each relation: first those that are gone, then those that took their place.
    """
    gone = list(relations)
    arrived: dict[str, EntityRelation] = {}
    for relation in gone:
        moved = _moved(relation, old, new)
        if moved.source_entity_id != moved.target_entity_id:
            known = arrived.get(moved.relation_id)
            arrived[moved.relation_id] = moved if known is None else observed(known, moved)
    there = {relation.relation_id: relation for relation in await unit.relations.get(list(arrived))}
    stored = [observed(there[id_], one) if id_ in there else one for id_, one in arrived.items()]
    await unit.relations.delete([relation.relation_id for relation in gone])
    await unit.relations.store(stored)
    return [
        *(ChangedItem.of(relation, None) for relation in gone),
        *(ChangedItem.of(there.get(relation.relation_id), relation) for relation in stored),
    ]


def _moved(relation: EntityRelation, old: str, new: str) -> EntityRelation:
    source = new if relation.source_entity_id == old else relation.source_entity_id
    target = new if relation.target_entity_id == old else relation.target_entity_id
    if relation.relation_type == RelationType.MENTIONED_WITH.value:
        source, target = sorted((source, target))
    return relation.model_copy(
        update={
            "source_entity_id": source,
            "target_entity_id": target,
            "relation_id": relation_id(relation.user_id, source, relation.relation_type, target),
        }
    )


def occurrences(text: str, names: Sequence[str]) -> dict[str, int]:
    """How often each name stands in a text as a whole; where two overlap the longer one counts.

    The keys are the names in the form of `memory.values.text.normalise`.
    """
    comparable = ComparableText(text)
    taken: list[tuple[int, int]] = []
    counts: dict[str, int] = {}
    for name in sorted({normalise(one) for one in names}, key=lambda one: (-len(one), one)):
        for start, end in comparable.find(name):
            if all(end <= first or last <= start for first, last in taken):
                taken.append((start, end))
                counts[name] = counts.get(name, 0) + 1
    return counts
