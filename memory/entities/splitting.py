"""Splitting an entity in two: some of its names, or some of the memories that mention it, become a new entity."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ..extraction.comparable_text import ComparableText
from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity, EntitySource
from ..values.errors import InvalidField
from ..values.governance.changes import Change, ChangedItem, ChangeKind
from ..values.ids import derive_id, entity_id
from ..values.records import Memory
from ..values.text import normalise
from .edits import ChangeContext, record_change
from .lookup import get_editable, is_named, require_name_free, validate_name
from .merging import move_relations, relations_of, relink, save_memories


async def split(
    unit: UnitOfWork,
    id_or_name: str,
    context: ChangeContext,
    *,
    names: Sequence[str] = (),
    memory_ids: Sequence[str] = (),
    name: str = "",
) -> tuple[Entity, Change]:
    """Splits a new entity off: with some of the names, with some of the memories that mention the entity, or both.

    The new entity gets the mentions under the given names in all memories, and all mentions in the given memories; the
    links of those memories; and the relations whose evidence is among them.

    Args:
        unit: The transaction.
        id_or_name: The entity to split.
        context: Who, when and why.
        names: Aliases to move; the first one is the new entity's name where `name` is not given.
        memory_ids: Memories whose mentions move, whatever name they use.
        name: The new entity's name.

    Raises:
        InvalidField: There is nothing to move, or a name or memory that the entity does not have.
        NotFound: There is no such entity.
        Conflict: The new name belongs to another entity, or the entity is archived.
    """
    entity = await get_editable(unit, id_or_name)
    moved_names = [_find_alias(entity, alias) for alias in names]
    value = validate_name(name or (moved_names[0] if moved_names else ""), "name")
    linked = await unit.memories.mentioning(entity.entity_id)
    if unknown := set(memory_ids) - {memory.memory_id for memory in linked}:
        raise InvalidField(
            f"memory {min(unknown)!r} does not mention the entity",
            field="memory_ids",
            allowed="ids of memories that mention the entity",
        )
    if is_named(entity, value) and normalise(value) not in {normalise(alias) for alias in moved_names}:
        raise InvalidField(
            f"{value!r} stays a name of the entity", field="name", allowed="one of `names`, or a name it does not have"
        )
    await require_name_free(unit, value, entity, field="name")
    merged_before = await _find_merged_row(unit, entity, value)
    division = _divide(entity, linked, moved_names, frozenset(memory_ids), merged_before)
    remainder = division.remainder(entity, moved_names)
    created = _new_entity(entity, merged_before, value, moved_names, division, context)
    items = [ChangedItem.of(entity, remainder), ChangedItem.of(merged_before, created)]
    await unit.entities.save([remainder, created])
    relinked = [share.relink(entity.entity_id, created.entity_id) for share in division.shares]
    items += await save_memories(unit, [share.memory for share in division.shares], relinked)
    resource_ids = {share.memory.resource_id for share in division.shares}
    relations = await relations_of(unit, entity.entity_id)
    moved_relations = [relation for relation in relations if relation.evidence in resource_ids]
    items += await move_relations(unit, moved_relations, entity.entity_id, created.entity_id)
    reason = f"{value} is not {entity.entity_value}"
    return created, await record_change(unit, ChangeKind.SPLIT, items, context, reason)


@dataclass(frozen=True)
class _MemoryShare:
    """How many of the mentions in a memory move to the new entity, and how many stay."""

    memory: Memory
    moving: int
    staying: int

    def relink(self, old_id: str, new_id: str) -> Memory:
        """The memory after the split; it refers to both entities where it mentions both."""
        if not self.staying:
            return relink(self.memory, {old_id: new_id})
        entity_ids = tuple(dict.fromkeys((*self.memory.entity_ids, new_id)))
        return self.memory.model_copy(update={"entity_ids": entity_ids})


@dataclass(frozen=True)
class _Division:
    """The memories with mentions that move, the number of these mentions, and the times of both halves."""

    shares: tuple[_MemoryShare, ...]
    count: int
    moved_at: tuple[datetime, ...]
    kept_at: tuple[datetime, ...]

    def remainder(self, entity: Entity, moved_names: Sequence[str]) -> Entity:
        """The split entity without the mentions and names that move."""
        moved = {normalise(name) for name in moved_names}
        return entity.model_copy(
            update={
                "aliases": tuple(alias for alias in entity.aliases if normalise(alias) not in moved),
                "mention_count": entity.mention_count - self.count,
                "first_mentioned": min(self.kept_at, default=entity.first_mentioned),
                "last_mentioned": max(self.kept_at, default=entity.last_mentioned),
                "version": entity.version + 1,
            }
        )


def _divide(
    entity: Entity,
    linked: Sequence[Memory],
    moved_names: Sequence[str],
    chosen_ids: frozenset[str],
    merged_before: Entity | None,
) -> _Division:
    """Counts what moves; of the mentions that no memory holds (`POST /entities`), those that a merge had brought."""
    moved = {normalise(name) for name in moved_names}
    shares, moved_at, kept_at = [], [], []
    in_memories = 0
    for memory in linked:
        counts = count_names(memory.text, entity.names)
        total = sum(counts.values())
        under_names = sum(counts.get(name, 0) for name in moved)
        moving = max(total, 1) if memory.memory_id in chosen_ids else under_names
        staying = max(0, total - moving)
        in_memories += max(1, moving + staying)
        if moving:
            shares.append(_MemoryShare(memory, moving, staying))
            moved_at.append(memory.created_at)
        if staying or not moving:
            kept_at.append(memory.created_at)
    moving = sum(share.moving for share in shares)
    if merged_before is not None and merged_before.merged_into == entity.entity_id:
        by_hand = max(0, entity.mention_count - in_memories)
        moving += min(by_hand, max(0, merged_before.mention_count - moving))
        if not moved_at and moving:
            moved_at += [merged_before.first_mentioned, merged_before.last_mentioned]
    count = min(moving, entity.mention_count)
    return _Division(tuple(shares), count, tuple(moved_at), tuple(kept_at))


def count_names(text: str, names: Sequence[str]) -> dict[str, int]:
    """Number of occurrences of each name as a whole word; of overlapping ones the longer counts.

    The keys are the names after `memory.values.text.normalise`.
    """
    comparable = ComparableText(text)
    taken: list[tuple[int, int]] = []
    counts: dict[str, int] = {}
    for name in sorted({normalise(name) for name in names}, key=lambda name: (-len(name), name)):
        for start, end in comparable.find(name):
            if all(end <= other_start or other_end <= start for other_start, other_end in taken):
                taken.append((start, end))
                counts[name] = counts.get(name, 0) + 1
    return counts


async def _find_merged_row(unit: UnitOfWork, entity: Entity, value: str) -> Entity | None:
    """The archived row of an entity that was merged under this name, which the new entity takes up again."""
    found = await unit.entities.get([entity_id(entity.user_id, value)])
    return found[0] if found and found[0].entity_id != entity.entity_id else None


def _new_entity(
    entity: Entity,
    merged_before: Entity | None,
    value: str,
    moved_names: Sequence[str],
    division: _Division,
    context: ChangeContext,
) -> Entity:
    normalised = normalise(value)
    id_ = merged_before.entity_id if merged_before else entity_id(entity.user_id, value)
    if id_ == entity.entity_id:  # the entity had this name when it was created
        id_ = derive_id("entity", entity.user_id, normalised, entity.entity_id)
    return Entity(
        entity_id=id_,
        user_id=entity.user_id,
        entity_value=value,
        normalised_value=normalised,
        aliases=tuple(name for name in dict.fromkeys(moved_names) if normalise(name) != normalised),
        subtype=merged_before.subtype if merged_before else entity.subtype,
        confidence=merged_before.confidence if merged_before else entity.confidence,
        source=merged_before.source if merged_before else _source_beside(entity),
        first_mentioned=min(division.moved_at, default=context.at),
        last_mentioned=max(division.moved_at, default=context.at),
        mention_count=division.count,
        attributes=merged_before.attributes if merged_before else {},
        version=merged_before.version + 1 if merged_before else 1,
    )


def _source_beside(entity: Entity) -> EntitySource:
    """The source of what is split off: of a preloaded entity, the user said so."""
    return EntitySource.USER if entity.source is EntitySource.SYSTEM else entity.source


def _find_alias(entity: Entity, name: str) -> str:
    """The alias as the entity spells it.

    Raises:
        InvalidField: The entity has no such alias.
    """
    wanted = normalise(name)
    for alias in entity.aliases:
        if normalise(alias) == wanted:
            return alias
    raise InvalidField(
        f"{name!r} is not an alias of {entity.entity_value!r}",
        field="names",
        allowed=", ".join(entity.aliases) or "nothing: the entity has no aliases",
    )
