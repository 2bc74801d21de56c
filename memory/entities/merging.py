"""Merging and deleting entities, with the memories and relations that refer to them (000 §4, DESIGN §6)."""

from collections.abc import Iterable, Mapping, Sequence

from ..ports.stores.record import UnitOfWork
from ..relations.patterns import RelationType
from ..relations.strength import add_observation
from ..values.entities import Entity, EntityRelation, EntityStatus
from ..values.errors import InvalidField
from ..values.governance.changes import Change, ChangedItem, ChangeKind
from ..values.ids import relation_id
from ..values.records import Memory
from ..values.text import normalise
from .edits import ChangeContext, record_change
from .lookup import get_editable, get_entity

NO_LIMIT = 2**31 - 1


async def merge(unit: UnitOfWork, into: str, merged: str, context: ChangeContext) -> tuple[Entity, Change]:
    """Merges two entities: `into` gets the names, mentions, memories and relations of `merged`, which is archived and
    refers to `into`.

    Raises:
        InvalidField: Both are the same entity.
        NotFound: One of them does not exist.
        Conflict: One of them is archived or was merged before.
    """
    winner = await get_editable(unit, into, field="into")
    loser = await get_editable(unit, merged, field="from")
    if winner.entity_id == loser.entity_id:
        raise InvalidField("an entity cannot be merged into itself", field="from", allowed="another entity")
    combined = _combine(winner, loser)
    archived = loser.model_copy(
        update={"status": EntityStatus.ARCHIVED, "merged_into": winner.entity_id, "version": loser.version + 1}
    )
    memories = await unit.memories.mentioning(loser.entity_id)
    items = [ChangedItem.of(winner, combined), ChangedItem.of(loser, archived)]
    await unit.entities.save([combined, archived])
    new_ids = {loser.entity_id: winner.entity_id}
    items += await save_memories(unit, memories, [relink(memory, new_ids) for memory in memories])
    relations = await relations_of(unit, loser.entity_id)
    items += await move_relations(unit, relations, loser.entity_id, winner.entity_id)
    reason = f"{loser.entity_value} is {winner.entity_value}"
    return combined, await record_change(unit, ChangeKind.MERGE, items, context, reason)


async def delete_entity(unit: UnitOfWork, id_or_name: str, context: ChangeContext) -> Change:
    """Deletes an entity with its names, its relations and the links of memories to it; the memories stay.

    Raises:
        NotFound: There is no such entity.
    """
    entity = await get_entity(unit, id_or_name)
    memories = await unit.memories.mentioning(entity.entity_id)
    relations = await relations_of(unit, entity.entity_id)
    items = [ChangedItem.of(entity, None)]
    items += await save_memories(unit, memories, [relink(memory, {entity.entity_id: None}) for memory in memories])
    items += [ChangedItem.of(relation, None) for relation in relations]
    await unit.relations.delete([relation.relation_id for relation in relations])
    await unit.entities.delete([entity.entity_id])
    return await record_change(unit, ChangeKind.DELETE, items, context, f"forget {entity.entity_value}")


def relink(memory: Memory, new_ids: Mapping[str, str | None]) -> Memory:
    """The memory with its entity ids replaced, each once and in their order; None removes an id."""
    ids = (new_ids.get(entity_id, entity_id) for entity_id in memory.entity_ids)
    return memory.model_copy(update={"entity_ids": tuple(dict.fromkeys(id_ for id_ in ids if id_ is not None))})


async def save_memories(unit: UnitOfWork, before: Sequence[Memory], after: Sequence[Memory]) -> list[ChangedItem]:
    """Saves the memories that changed; returns what changed."""
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    await unit.memories.save([new for _, new in changed])
    return [ChangedItem.of(old, new) for old, new in changed]


async def relations_of(unit: UnitOfWork, entity_id: str) -> list[EntityRelation]:
    """All relations of an entity."""
    return await unit.relations.of(entity_id, limit=NO_LIMIT)


async def move_relations(
    unit: UnitOfWork, relations: Iterable[EntityRelation], old_id: str, new_id: str
) -> list[ChangedItem]:
    """Replaces one end of relations. A relation that exists at the new entity already is combined with the moved one;
    a relation that would connect an entity with itself is dropped.

    Returns:
        What changed: first the relations that are gone, then those that replace them.
    """
    removed = list(relations)
    moved: dict[str, EntityRelation] = {}
    for relation in removed:
        replacement = _replace_end(relation, old_id, new_id)
        if replacement.source_entity_id != replacement.target_entity_id:
            other = moved.get(replacement.relation_id)
            moved[replacement.relation_id] = replacement if other is None else add_observation(other, replacement)
    existing = {relation.relation_id: relation for relation in await unit.relations.get(list(moved))}
    stored = [
        add_observation(existing[id_], relation) if id_ in existing else relation for id_, relation in moved.items()
    ]
    await unit.relations.delete([relation.relation_id for relation in removed])
    await unit.relations.store(stored)
    return [
        *(ChangedItem.of(relation, None) for relation in removed),
        *(ChangedItem.of(existing.get(relation.relation_id), relation) for relation in stored),
    ]


def _replace_end(relation: EntityRelation, old_id: str, new_id: str) -> EntityRelation:
    source = new_id if relation.source_entity_id == old_id else relation.source_entity_id
    target = new_id if relation.target_entity_id == old_id else relation.target_entity_id
    if relation.relation_type == RelationType.MENTIONED_WITH.value:
        source, target = sorted((source, target))
    return relation.model_copy(
        update={
            "source_entity_id": source,
            "target_entity_id": target,
            "relation_id": relation_id(relation.user_id, source, relation.relation_type, target),
        }
    )


def _combine(winner: Entity, loser: Entity) -> Entity:
    """The winner with the names, counts and attributes of both."""
    seen, aliases = {winner.normalised_value}, []
    for name in (*winner.aliases, *loser.names):
        if normalise(name) not in seen:
            seen.add(normalise(name))
            aliases.append(name)
    mentioned = [entity for entity in (winner, loser) if entity.mention_count] or [winner]
    return winner.model_copy(
        update={
            "aliases": tuple(aliases),
            "mention_count": winner.mention_count + loser.mention_count,
            "access_count": winner.access_count + loser.access_count,
            "first_mentioned": min(entity.first_mentioned for entity in mentioned),
            "last_mentioned": max(entity.last_mentioned for entity in mentioned),
            "confidence": max(winner.confidence, loser.confidence),
            "subtype": winner.subtype or loser.subtype,
            "attributes": {**loser.attributes, **winner.attributes},
            "version": winner.version + 1,
        }
    )
