"""Changing one entity: aliases, name, type and attributes (000 §4, DESIGN §6).

Each function works in the caller's transaction and logs one `Change` with every row before and after it, so that `undo`
can revert it; `merging` and `splitting` do the same for several entities. Afterwards all names, mentions, memories and
relations lead to stored entities, and the mention counts of all active entities add up to what they were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..extraction.junk import junk_kind
from ..ports.stores.record import UnitOfWork
from ..values.base import Scalar
from ..values.entities import Entity, EntitySource
from ..values.errors import InvalidField, NotFound
from ..values.governance.changes import Change, ChangeActor, ChangedItem, ChangeKind, new_change
from ..values.ids import derive_id, entity_id
from ..values.text import normalise
from ..values.understanding.mentions import EntitySubtype
from .lookup import MAX_ALIASES, follow_merges, get_editable, is_named, require_name_free, validate_name

_REMEMBERED = ("status", "source", "confidence", "subtype", "attributes")
"""What remembering an entity may change besides the count and the times of its mentions."""


@dataclass(frozen=True)
class ChangeContext:
    """Who changes which user's memory, when and why; `about` holds ids of the change's source (a log entry)."""

    user_id: str
    at: datetime
    actor: ChangeActor = ChangeActor.USER
    reason: str = ""
    about: tuple[str, ...] = ()


async def record_change(
    unit: UnitOfWork,
    kind: ChangeKind,
    items: Sequence[ChangedItem],
    context: ChangeContext,
    reason: str,
    *,
    about: Sequence[str] = (),
) -> Change:
    """Logs a change; `reason` and `about` are used where the context gives none."""
    change = new_change(
        kind,
        user_id=context.user_id,
        at=context.at,
        actor=context.actor,
        reason=context.reason or reason,
        items=items,
        about=context.about or about,
    )
    await unit.changes.append([change])
    return change


async def remember(
    unit: UnitOfWork,
    name: str,
    context: ChangeContext,
    *,
    subtype: EntitySubtype | None = None,
    attributes: Mapping[str, Scalar] | None = None,
) -> tuple[Entity, Change | None]:
    """Stores an entity as sure, or mentions the one of this name again, which restores it from the archive.

    The change is None where nothing but the mention is new.

    Raises:
        InvalidField: The value is not a name but a stop word, a number, a pronoun, a greeting or a date.
    """
    value = validate_name(name, "entity_value")
    if (junk := junk_kind(value)) is not None:
        raise InvalidField(f"{value!r} is not a name: {junk}", field="entity_value", allowed="the name of an entity")
    found = await unit.entities.get_by_value(value)
    known = await follow_merges(unit, found) if found else None
    known = known if known is not None and is_named(known, value) else None
    is_new = known is None or known.is_unseen_seed
    entity = known.mentioned_again(context.at) if known else await _new_entity(unit, value, context)
    entity = entity.model_copy(
        update={
            "confidence": 1.0,
            "source": EntitySource.USER if is_new else entity.source,
            "subtype": subtype or entity.subtype,
            "attributes": {**entity.attributes, **(attributes or {})},
        }
    )
    await unit.entities.save([entity])
    if known is not None and all(getattr(known, field) == getattr(entity, field) for field in _REMEMBERED):
        return entity, None
    if is_new:
        kind = ChangeKind.ADD
    else:
        kind = ChangeKind.EDIT if known is not None and known.is_current else ChangeKind.RESTORE
    return entity, await record_change(unit, kind, [ChangedItem.of(known, entity)], context, "remembered by the user")


async def _new_entity(unit: UnitOfWork, name: str, context: ChangeContext) -> Entity:
    id_ = entity_id(context.user_id, name)
    if await unit.entities.get([id_]):  # an entity created under this name has been renamed since
        id_ = derive_id("entity", context.user_id, normalise(name), id_)
    return Entity(
        entity_id=id_,
        user_id=context.user_id,
        entity_value=name,
        normalised_value=normalise(name),
        source=EntitySource.USER,
        first_mentioned=context.at,
        last_mentioned=context.at,
        mention_count=1,
    )


async def add_alias(
    unit: UnitOfWork, id_or_name: str, alias: str, context: ChangeContext
) -> tuple[Entity, Change | None]:
    """Adds an alias; the change is None where the entity has that name already.

    Raises:
        InvalidField: It is not a valid name, or the entity has too many aliases.
        NotFound: There is no such entity.
        Conflict: The name belongs to another entity, or the entity is archived.
    """
    name = validate_name(alias, "alias")
    entity = await get_editable(unit, id_or_name)
    if is_named(entity, name):
        return entity, None
    if len(entity.aliases) >= MAX_ALIASES:
        raise InvalidField(
            f"{entity.entity_value!r} has {MAX_ALIASES} aliases already",
            field="alias",
            allowed=f"at most {MAX_ALIASES} aliases; remove one first",
        )
    await require_name_free(unit, name, entity, field="alias")
    reason = f"{entity.entity_value} is also called {name}"
    return await _update(unit, entity, {"aliases": (*entity.aliases, name)}, ChangeKind.ALIAS, context, reason)


async def remove_alias(
    unit: UnitOfWork, id_or_name: str, alias: str, context: ChangeContext
) -> tuple[Entity, Change | None]:
    """Removes an alias.

    Raises:
        InvalidField: It is the entity's own name.
        NotFound: There is no such entity, or it has no such alias.
        Conflict: The entity is archived.
    """
    entity = await get_editable(unit, id_or_name)
    removed = normalise(alias)
    remaining = tuple(name for name in entity.aliases if normalise(name) != removed)
    if remaining == entity.aliases:
        if removed == entity.normalised_value:
            raise InvalidField(
                f"{alias!r} is the entity's name, not an alias; rename the entity instead",
                field="alias",
                allowed="one of the entity's aliases",
            )
        raise NotFound(f"alias: {entity.entity_value!r} has no alias {alias!r}.")
    reason = f"{entity.entity_value} is not called {alias}"
    return await _update(unit, entity, {"aliases": remaining}, ChangeKind.ALIAS, context, reason)


async def rename(unit: UnitOfWork, id_or_name: str, name: str, context: ChangeContext) -> tuple[Entity, Change | None]:
    """Renames an entity; the old name stays as an alias, so that texts that hold it still lead to the entity.

    Raises:
        InvalidField: It is not a valid name.
        NotFound: There is no such entity.
        Conflict: The name belongs to another entity, or the entity is archived.
    """
    value = validate_name(name, "name")
    entity = await get_editable(unit, id_or_name)
    if value == entity.entity_value:
        return entity, None
    await require_name_free(unit, value, entity, field="name")
    normalised = normalise(value)
    old_name = () if normalised == entity.normalised_value else (entity.entity_value,)
    aliases = (*(alias for alias in entity.aliases if normalise(alias) != normalised), *old_name)
    fields = {"entity_value": value, "normalised_value": normalised, "aliases": aliases}
    return await _update(unit, entity, fields, ChangeKind.RENAME, context, f"{entity.entity_value} → {value}")


async def describe(
    unit: UnitOfWork,
    id_or_name: str,
    context: ChangeContext,
    *,
    subtype: EntitySubtype | None = None,
    attributes: dict[str, Scalar] | None = None,
) -> tuple[Entity, Change | None]:
    """Sets an entity's subtype and the given attributes; an attribute that is None is removed.

    Raises:
        NotFound: There is no such entity.
        Conflict: It is archived.
    """
    entity = await get_editable(unit, id_or_name)
    merged = {key: value for key, value in {**entity.attributes, **(attributes or {})}.items() if value is not None}
    fields = {"subtype": subtype or entity.subtype, "attributes": merged}
    if all(getattr(entity, name) == value for name, value in fields.items()):
        return entity, None
    return await _update(unit, entity, fields, ChangeKind.EDIT, context, "described")


async def _update(
    unit: UnitOfWork,
    entity: Entity,
    fields: Mapping[str, object],
    kind: ChangeKind,
    context: ChangeContext,
    reason: str,
) -> tuple[Entity, Change]:
    updated = entity.model_copy(update={**fields, "version": entity.version + 1})
    await unit.entities.save([updated])
    return updated, await record_change(unit, kind, [ChangedItem.of(entity, updated)], context, reason)
