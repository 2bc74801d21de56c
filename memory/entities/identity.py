"""Which names mean one thing: aliases, renaming, merging, splitting and forgetting entities (000 §4, DESIGN §6).

Each operation is one transaction and one `Change` with all rows as they were and as they became, so that `undo` takes
it back: counts that were added since stay where they were counted. What they leave is consistent: names, mentions,
memories and relations all lead to entities that are there, and the mentions of all living entities add up to what
they were.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..ports.record import UnitOfWork
from ..values.base import Scalar
from ..values.changes import Change, ChangeActor, ChangedItem, ChangeKind, new_change
from ..values.entities import Entity, EntityRelation, EntityStatus
from ..values.errors import InvalidField, NotFound
from ..values.ids import derive_id, entity_id
from ..values.mentions import EntitySubtype
from ..values.records import Memory
from ..values.text import normalise
from .links import move_relations, occurrences, relations_of, relinked, save_memories
from .names import MAX_ALIASES, checked_name, existing, free_for, is_named, names_of, referred


@dataclass(frozen=True)
class ChangeContext:
    """Who changes whose memory, when and why; `about` are ids of what the change comes from (a log entry)."""

    user_id: str
    at: datetime
    actor: ChangeActor = ChangeActor.USER
    reason: str = ""
    about: tuple[str, ...] = field(default=())


async def add_alias(unit: UnitOfWork, of: str, alias: str, deed: ChangeContext) -> tuple[Entity, Change | None]:
    """Gives an entity one more name; no change where it has it already.

    Raises:
        InvalidField: It is no name, or the entity has too many.
        NotFound: There is no such entity.
        Conflict: The name is another entity's, or the entity is archived.
    """
    name = checked_name(alias, "alias")
    entity = await existing(unit, of)
    if is_named(entity, name):
        return entity, None
    if len(entity.aliases) >= MAX_ALIASES:
        raise InvalidField(
            f"{entity.entity_value!r} has {MAX_ALIASES} aliases", field="alias", allowed=f"{MAX_ALIASES} aliases"
        )
    await free_for(unit, name, entity, field="alias")
    reason = deed.reason or f"{entity.entity_value} is also called {name}"
    return await _replace(unit, entity, {"aliases": (*entity.aliases, name)}, ChangeKind.ALIAS, deed, reason)


async def remove_alias(unit: UnitOfWork, of: str, alias: str, deed: ChangeContext) -> tuple[Entity, Change | None]:
    """Takes an alias off an entity.

    Raises:
        InvalidField: It is the entity's own name.
        NotFound: There is no such entity, or it has no such alias.
        Conflict: The entity is archived.
    """
    entity = await existing(unit, of)
    wanted = normalise(alias)
    left = tuple(one for one in entity.aliases if normalise(one) != wanted)
    if left == entity.aliases:
        if wanted == entity.normalised_value:
            raise InvalidField(
                f"{alias!r} is the entity's name; rename it", field="alias", allowed="one of its aliases"
            )
        raise NotFound(f"alias: {entity.entity_value!r} has no alias {alias!r}.")
    reason = deed.reason or f"{entity.entity_value} is not called {alias}"
    return await _replace(unit, entity, {"aliases": left}, ChangeKind.ALIAS, deed, reason)


async def rename(unit: UnitOfWork, of: str, name: str, deed: ChangeContext) -> tuple[Entity, Change | None]:
    """Gives an entity another name to show; the old one stays as an alias, so that text with it still leads here.

    Raises:
        InvalidField: It is no name.
        NotFound: There is no such entity.
        Conflict: The name is another entity's, or the entity is archived.
    """
    value = checked_name(name, "name")
    entity = await existing(unit, of)
    if value == entity.entity_value:
        return entity, None
    await free_for(unit, value, entity, field="name")
    wanted = normalise(value)
    old = () if wanted == entity.normalised_value else (entity.entity_value,)
    aliases = (*(one for one in entity.aliases if normalise(one) != wanted), *old)
    fields = {"entity_value": value, "normalised_value": wanted, "aliases": aliases}
    return await _replace(
        unit, entity, fields, ChangeKind.RENAME, deed, deed.reason or f"{entity.entity_value} → {value}"
    )


async def describe(
    unit: UnitOfWork,
    of: str,
    deed: ChangeContext,
    *,
    subtype: EntitySubtype | None = None,
    attributes: dict[str, Scalar] | None = None,
) -> tuple[Entity, Change | None]:
    """Sets an entity's finer type and attributes; of the attributes, those given, and null takes one away.

    Raises:
        NotFound: There is no such entity.
        Conflict: It is archived.
    """
    entity = await existing(unit, of)
    merged = {key: value for key, value in {**entity.attributes, **(attributes or {})}.items() if value is not None}
    fields = {"subtype": subtype or entity.subtype, "attributes": merged}
    if all(getattr(entity, name) == value for name, value in fields.items()):
        return entity, None
    return await _replace(unit, entity, fields, ChangeKind.OVERWRITE, deed, deed.reason or "described")


async def merge(unit: UnitOfWork, into: str, merged: str, deed: ChangeContext) -> tuple[Entity, Change]:
    """Makes two entities one: `into` takes over the names, mentions, memories and relations of `merged`, which is
    archived and points to it.

    Raises:
        InvalidField: They are one already.
        NotFound: One of them is not there.
        Conflict: One of them is archived or was merged before.
    """
    winner = await existing(unit, into, field="into")
    loser = await existing(unit, merged, field="from")
    if winner.entity_id == loser.entity_id:
        raise InvalidField("an entity cannot be merged into itself", field="from", allowed="another entity")
    after = [_taken_over(winner, loser), _retired(loser, into=winner.entity_id)]
    memories = await unit.memories.mentioning(loser.entity_id)
    items = [ChangedItem.of(winner, after[0]), ChangedItem.of(loser, after[1])]
    await unit.entities.save(after)
    links = {loser.entity_id: winner.entity_id}
    items += await save_memories(unit, memories, [relinked(memory, links) for memory in memories])
    relations = await relations_of(unit, loser.entity_id)
    items += await move_relations(unit, relations, loser.entity_id, winner.entity_id)
    reason = deed.reason or f"{loser.entity_value} is {winner.entity_value}"
    return after[0], await _record(unit, ChangeKind.MERGE, items, deed, reason)


async def split(
    unit: UnitOfWork,
    of: str,
    deed: ChangeContext,
    *,
    names: Sequence[str] = (),
    memory_ids: Sequence[str] = (),
    name: str = "",
) -> tuple[Entity, Change]:
    """Takes a part of an entity out into one of its own: some of its names, some memories that mention it, or both.

    What goes along: the mentions that the memories hold under the names given (in the memories given: under any name),
    the links of those memories, and the relations whose evidence is among them.

    Args:
        unit: The transaction.
        of: Id or name of the entity to split.
        deed: Who, when and why.
        names: Aliases that go along; the first one is the new entity's name where `name` is not given.
        memory_ids: Memories whose mentions go along, whatever the name in them.
        name: The new entity's name.

    Raises:
        InvalidField: Nothing is named to be split off, or something that the entity does not have.
        NotFound: There is no such entity.
        Conflict: The new name is another entity's, or the entity is archived.
    """
    entity = await existing(unit, of)
    leaving = [_own_alias(entity, one) for one in names]
    value = checked_name(name or (leaving[0] if leaving else ""), "name")
    linked = await unit.memories.mentioning(entity.entity_id)
    if unknown := set(memory_ids) - {memory.memory_id for memory in linked}:
        raise InvalidField(
            f"memory {min(unknown)!r} does not mention it", field="memory_ids", allowed="memories that mention it"
        )
    if is_named(entity, value) and normalise(value) not in {normalise(one) for one in leaving}:
        raise InvalidField(f"{value!r} stays a name of the entity", field="name", allowed="another name")
    await free_for(unit, value, entity, field="name")
    share = _share(entity, linked, leaving, frozenset(memory_ids))
    former = await _row_for(unit, entity, value)
    created = _split_off(entity, former, value, leaving, share, deed)
    items = [ChangedItem.of(entity, share.rest(entity, leaving)), ChangedItem.of(former, created)]
    await unit.entities.save([share.rest(entity, leaving), created])
    items += await save_memories(
        unit, share.memories, [one.relinked(entity.entity_id, created.entity_id) for one in share.parts]
    )
    resources = {memory.resource_id for memory in share.memories}
    moving = [one for one in await relations_of(unit, entity.entity_id) if one.evidence in resources]
    items += await move_relations(unit, moving, entity.entity_id, created.entity_id)
    return created, await _record(
        unit, ChangeKind.SPLIT, items, deed, deed.reason or f"{value} is not {entity.entity_value}"
    )


async def forget(unit: UnitOfWork, of: str, deed: ChangeContext) -> Change:
    """Deletes an entity with its names, relations and the links of memories to it; the memories stay.

    Raises:
        NotFound: There is no such entity.
    """
    entity = await referred(unit, of)
    memories = await unit.memories.mentioning(entity.entity_id)
    relations: list[EntityRelation] = await relations_of(unit, entity.entity_id)
    items = [ChangedItem.of(entity, None)]
    unlinked = [relinked(memory, {entity.entity_id: None}) for memory in memories]
    items += await save_memories(unit, memories, unlinked)
    items += [ChangedItem.of(relation, None) for relation in relations]
    await unit.relations.delete([relation.relation_id for relation in relations])
    await unit.entities.delete([entity.entity_id])
    return await _record(unit, ChangeKind.DELETE, items, deed, deed.reason or f"forget {entity.entity_value}")


@dataclass(frozen=True)
class _Part:
    """How many of a memory's mentions leave, and how many stay."""

    memory: Memory
    leaving: int
    staying: int

    def relinked(self, old: str, new: str) -> Memory:
        """The memory afterwards: with both entities where some of each are in it."""
        if self.staying:
            return self.memory.model_copy(update={"entity_ids": tuple(dict.fromkeys((*self.memory.entity_ids, new)))})
        return relinked(self.memory, {old: new})


@dataclass(frozen=True)
class _Share:
    """What a split takes along: the memories with mentions that leave, and the times of both halves."""

    parts: tuple[_Part, ...]
    count: int
    left: tuple[datetime, ...]
    kept: tuple[datetime, ...]

    @property
    def memories(self) -> list[Memory]:
        return [part.memory for part in self.parts]

    def rest(self, entity: Entity, leaving: Iterable[str]) -> Entity:
        """The entity without its share."""
        gone = {normalise(one) for one in leaving}
        return entity.model_copy(
            update={
                "aliases": tuple(one for one in entity.aliases if normalise(one) not in gone),
                "mention_count": entity.mention_count - self.count,
                "first_mentioned": min(self.kept, default=entity.first_mentioned),
                "last_mentioned": max(self.kept, default=entity.last_mentioned),
                "version": entity.version + 1,
            }
        )


def _share(entity: Entity, linked: Sequence[Memory], leaving: Sequence[str], chosen: frozenset[str]) -> _Share:
    wanted = {normalise(one) for one in leaving}
    parts, left, kept = [], [], []
    for memory in linked:
        counts = occurrences(memory.text, names_of(entity))
        whole = memory.memory_id in chosen
        away = sum(counts.values()) if whole else sum(counts.get(one, 0) for one in wanted)
        away = max(away, 1) if whole else away
        staying = max(0, sum(counts.values()) - away) if away else sum(counts.values())
        if away:
            parts.append(_Part(memory, away, staying))
            left.append(memory.created_at)
        if staying or not away:
            kept.append(memory.created_at)
    count = min(sum(part.leaving for part in parts), entity.mention_count)
    return _Share(tuple(parts), count, tuple(left), tuple(kept))


async def _row_for(unit: UnitOfWork, entity: Entity, value: str) -> Entity | None:
    """The archived row that the new entity can live in again: the one that was merged under this name."""
    found = await unit.entities.get([entity_id(entity.user_id, value)])
    return found[0] if found and found[0].entity_id != entity.entity_id else None


def _split_off(
    entity: Entity, former: Entity | None, value: str, leaving: Sequence[str], share: _Share, deed: ChangeContext
) -> Entity:
    own = normalise(value)
    id_ = former.entity_id if former else entity_id(entity.user_id, value)
    if id_ == entity.entity_id:  # it was renamed from this very name
        id_ = derive_id("entity", entity.user_id, own, entity.entity_id)
    return Entity(
        entity_id=id_,
        user_id=entity.user_id,
        entity_value=value,
        normalised_value=own,
        aliases=tuple(one for one in dict.fromkeys(leaving) if normalise(one) != own),
        subtype=former.subtype if former else entity.subtype,
        confidence=former.confidence if former else entity.confidence,
        source=former.source if former else entity.source,
        first_mentioned=min(share.left, default=deed.at),
        last_mentioned=max(share.left, default=deed.at),
        mention_count=share.count,
        attributes=former.attributes if former else {},
        version=former.version + 1 if former else 1,
    )


def _own_alias(entity: Entity, name: str) -> str:
    wanted = normalise(name)
    for alias in entity.aliases:
        if normalise(alias) == wanted:
            return alias
    raise InvalidField(
        f"{name!r} is no alias of {entity.entity_value!r}",
        field="names",
        allowed=", ".join(entity.aliases) or "nothing: it has no aliases",
    )


def _taken_over(winner: Entity, loser: Entity) -> Entity:
    seen, aliases = {winner.normalised_value}, []
    for name in (*winner.aliases, *names_of(loser)):
        if normalise(name) not in seen:
            seen.add(normalise(name))
            aliases.append(name)
    spoken = [one for one in (winner, loser) if one.mention_count] or [winner]
    return winner.model_copy(
        update={
            "aliases": tuple(aliases),
            "mention_count": winner.mention_count + loser.mention_count,
            "access_count": winner.access_count + loser.access_count,
            "first_mentioned": min(one.first_mentioned for one in spoken),
            "last_mentioned": max(one.last_mentioned for one in spoken),
            "confidence": max(winner.confidence, loser.confidence),
            "subtype": winner.subtype or loser.subtype,
            "attributes": {**loser.attributes, **winner.attributes},
            "version": winner.version + 1,
        }
    )


def _retired(loser: Entity, *, into: str) -> Entity:
    return loser.model_copy(update={"status": EntityStatus.ARCHIVED, "merged_into": into, "version": loser.version + 1})


async def _replace(
    unit: UnitOfWork, entity: Entity, fields: Mapping[str, object], kind: ChangeKind, deed: ChangeContext, reason: str
) -> tuple[Entity, Change]:
    after = entity.model_copy(update={**fields, "version": entity.version + 1})
    await unit.entities.save([after])
    return after, await _record(unit, kind, [ChangedItem.of(entity, after)], deed, reason)


async def _record(
    unit: UnitOfWork, kind: ChangeKind, items: Sequence[ChangedItem], deed: ChangeContext, reason: str
) -> Change:
    change = new_change(
        kind, user_id=deed.user_id, at=deed.at, actor=deed.actor, reason=reason, items=items, about=deed.about
    )
    await unit.changes.append([change])
    return change
