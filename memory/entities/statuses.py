"""Archiving, reviewing and restoring what is remembered: each is a change in the log (001 §4, DESIGN §6)."""

from datetime import datetime
from enum import StrEnum

from ..ports.record import UnitOfWork
from ..values.changes import Change, ChangeActor, ChangedItem, ChangeKind, ItemKind, new_change
from ..values.entities import Entity, EntityStatus
from ..values.errors import Conflict, NotFound
from ..values.typed_memories import TypedMemory

Keepable = Entity | TypedMemory
"""What has a status and is reviewed."""


class KeepableKind(StrEnum):
    """The kinds of it."""

    ENTITY = ItemKind.ENTITY.value
    TYPED_MEMORY = ItemKind.TYPED_MEMORY.value


_BECOMES = {
    ChangeKind.ARCHIVE: EntityStatus.ARCHIVED,
    ChangeKind.REVIEW: EntityStatus.REVIEW,
    ChangeKind.RESTORE: EntityStatus.ACTIVE,
}


def id_of(item: Keepable) -> str:
    """Its id."""
    return item.entity_id if isinstance(item, Entity) else item.memory_id


def kind_of(item: Keepable) -> KeepableKind:
    """Its kind."""
    return KeepableKind.ENTITY if isinstance(item, Entity) else KeepableKind.TYPED_MEMORY


async def keepable(unit: UnitOfWork, kind: KeepableKind, item_id: str) -> Keepable:
    """The thing with this id.

    Raises:
        NotFound: There is none.
    """
    found: list[Entity] | list[TypedMemory] = (
        await unit.entities.get([item_id]) if kind is KeepableKind.ENTITY else await unit.typed_memories.get([item_id])
    )
    if not found:
        raise NotFound(f"id: there is no {kind} {item_id!r}.")
    return found[0]


async def named_or_keepable(unit: UnitOfWork, kind: KeepableKind, item_id: str) -> Keepable:
    """The thing with this id, or the entity with this name or alias.

    Raises:
        NotFound: There is none.
    """
    try:
        return await keepable(unit, kind, item_id)
    except NotFound:
        named = await unit.entities.get_by_value(item_id) if kind is KeepableKind.ENTITY else None
        if named is None:
            raise
        return named


async def save(unit: UnitOfWork, item: Keepable) -> None:
    """Keeps it, in place of what has its id."""
    if isinstance(item, Entity):
        await unit.entities.save([item])
    else:
        await unit.typed_memories.save([item])


async def set_status(
    unit: UnitOfWork, item: Keepable, kind: ChangeKind, *, at: datetime, actor: ChangeActor, reason: str
) -> tuple[Keepable, Change | None]:
    """Archives, marks for review or restores; no change where it is so already.

    Raises:
        Conflict: It was merged into another entity, which must be undone first.
    """
    changed = with_status(item, kind, at=at, reason=reason)
    if changed is item:
        return item, None
    await save(unit, changed)
    change = new_change(
        kind, user_id=item.user_id, at=at, actor=actor, reason=reason, items=[ChangedItem.of(item, changed)]
    )
    await unit.changes.append([change])
    return changed, change


def with_status(item: Keepable, kind: ChangeKind, *, at: datetime, reason: str) -> Keepable:
    """The thing after the change; the same object where nothing changes.

    Restoring counts as an access, so that the next review does not archive it again.

    Raises:
        Conflict: It was merged into another entity.
    """
    status = _BECOMES[kind]
    review = reason if kind is ChangeKind.REVIEW else None
    if item.status.value == status.value and item.review_reason == review:
        return item
    if isinstance(item, Entity) and item.merged_into is not None:
        raise Conflict(f"The entity {item.entity_id} was merged into {item.merged_into}: undo that first.")
    fields: dict[str, object] = {
        "status": type(item.status)(status.value),
        "review_reason": review,
        "version": item.version + 1,
    }
    if kind is ChangeKind.RESTORE:
        fields |= {"accessed_at": max(item.accessed_at or at, at), "access_count": item.access_count + 1}
        if isinstance(item, TypedMemory):
            fields |= {"conflicts_with": (), "superseded_by": None}
    return item.model_copy(update=fields)


async def log_restored(unit: UnitOfWork, before: Keepable, after: Keepable, *, at: datetime) -> None:
    """Logs that something archived or in review is active again, as somebody spoke of it; where it is so."""
    if before.status is after.status or after.status.value != EntityStatus.ACTIVE.value:
        return
    change = new_change(
        ChangeKind.RESTORE,
        user_id=before.user_id,
        at=at,
        actor=ChangeActor.SYSTEM,
        reason="was said again",
        items=[ChangedItem.of(before, after)],
    )
    await unit.changes.append([change])
