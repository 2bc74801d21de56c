"""Archiving, marking for review and restoring entities and typed memories (001 §4, DESIGN §6)."""

from collections.abc import AsyncIterator
from datetime import datetime
from enum import StrEnum

from ..ports.stores.record import UnitOfWork
from ..values.entities import Entity, EntityStatus
from ..values.errors import Conflict, NotFound
from ..values.governance.changes import Change, ChangeActor, ChangedItem, ChangeKind, ItemKind, new_change
from ..values.typed_memories import MemoryStatus, TypedMemory

_PAGE = 256
_NEW_STATUS = {
    ChangeKind.ARCHIVE: EntityStatus.ARCHIVED,
    ChangeKind.REVIEW: EntityStatus.REVIEW,
    ChangeKind.RESTORE: EntityStatus.ACTIVE,
}

Reviewable = Entity | TypedMemory
"""An item that has a status and is reviewed."""


class ReviewableKind(StrEnum):
    """The kind of a reviewable item."""

    ENTITY = ItemKind.ENTITY.value
    TYPED_MEMORY = ItemKind.TYPED_MEMORY.value


def id_of(item: Reviewable) -> str:
    """The item's id."""
    return item.entity_id if isinstance(item, Entity) else item.memory_id


def kind_of(item: Reviewable) -> ReviewableKind:
    """The item's kind."""
    return ReviewableKind.ENTITY if isinstance(item, Entity) else ReviewableKind.TYPED_MEMORY


async def get_reviewable(unit: UnitOfWork, kind: ReviewableKind, item_id: str) -> Reviewable:
    """The item with this id.

    Raises:
        NotFound: The user has no such item.
    """
    items: list[Entity] | list[TypedMemory] = (
        await unit.entities.get([item_id])
        if kind is ReviewableKind.ENTITY
        else await unit.typed_memories.get([item_id])
    )
    if not items:
        raise NotFound(f"id: there is no {kind} {item_id!r}.")
    return items[0]


async def find_reviewable(unit: UnitOfWork, kind: ReviewableKind, id_or_name: str) -> Reviewable:
    """The item with this id, or the entity with this name or alias.

    Raises:
        NotFound: The user has no such item.
    """
    try:
        return await get_reviewable(unit, kind, id_or_name)
    except NotFound:
        entity = await unit.entities.get_by_value(id_or_name) if kind is ReviewableKind.ENTITY else None
        if entity is None:
            raise
        return entity


async def page_of(unit: UnitOfWork, kind: ReviewableKind, *, after: str | None, limit: int) -> list[Reviewable]:
    """Items of a kind in the order of their ids, from the first id greater than `after`."""
    if kind is ReviewableKind.ENTITY:
        return [*await unit.entities.page(after=after, limit=limit)]
    return [*await unit.typed_memories.page(after=after, limit=limit)]


async def list_by_status(
    unit: UnitOfWork, kind: ReviewableKind, status: MemoryStatus, *, after: str | None, limit: int
) -> list[Reviewable]:
    """Items of a kind and status in the order of their ids, from the first id greater than `after`."""
    if kind is ReviewableKind.TYPED_MEMORY:
        return [*await unit.typed_memories.page(after=after, limit=limit, status=status)]
    items: list[Reviewable] = []
    async for entity in _walk_entities(unit, after):
        if entity.status.value == status.value:
            items.append(entity)
        if len(items) == limit:
            break
    return items


async def set_status(
    unit: UnitOfWork, item: Reviewable, kind: ChangeKind, *, at: datetime, actor: ChangeActor, reason: str
) -> tuple[Reviewable, Change | None]:
    """Archives, marks for review or restores an item; the change is None where it has that status already.

    Archiving one side of a conflict between typed memories closes it, and restoring a memory that another one replaced
    opens it again; the other memories that this changes belong to the same change.

    Raises:
        Conflict: The entity was merged into another one, which must be undone first.
    """
    changed = with_status(item, kind, at=at, reason=reason)
    if changed is item:
        return item, None
    items = [ChangedItem.of(item, changed)]
    if isinstance(changed, Entity):
        await unit.entities.save([changed])
    else:
        assert isinstance(item, TypedMemory)  # noqa: S101 - a change of status changes no type
        rivals = await _changed_rivals(unit, item, kind)
        await unit.typed_memories.save([changed, *(after for _, after in rivals)])
        items += [ChangedItem.of(before, after) for before, after in rivals]
    change = new_change(kind, user_id=item.user_id, at=at, actor=actor, reason=reason, items=items)
    await unit.changes.append([change])
    return changed, change


async def _changed_rivals(
    unit: UnitOfWork, memory: TypedMemory, kind: ChangeKind
) -> list[tuple[TypedMemory, TypedMemory]]:
    """Memories whose conflict with one opens or closes by its new status, before and after."""
    if kind is ChangeKind.RESTORE and memory.superseded_by:
        winners = await unit.typed_memories.get([memory.superseded_by])
        return [
            (winner, _with_version(winner.disputed_by([memory])))
            for winner in winners
            if winner.status is not MemoryStatus.ARCHIVED
        ]
    if kind is not ChangeKind.ARCHIVE:
        return []
    rivals = []
    after = None
    while page := await unit.typed_memories.page(after=after, limit=_PAGE, status=MemoryStatus.REVIEW):
        after = page[-1].memory_id
        for rival in page:
            if memory.memory_id in rival.conflicts_with:
                left = await unit.typed_memories.get([id_ for id_ in rival.conflicts_with if id_ != memory.memory_id])
                rivals.append((rival, _with_version(rival.disputed_by(left) if left else rival.undisputed())))
    return rivals


def _with_version(memory: TypedMemory) -> TypedMemory:
    return memory.model_copy(update={"version": memory.version + 1})


def with_status(item: Reviewable, kind: ChangeKind, *, at: datetime, reason: str) -> Reviewable:
    """The item after a change of status; the same object where nothing changes.

    Restoring counts as an access, so that the next review does not archive the item again.

    Raises:
        Conflict: The entity was merged into another one.
    """
    status = _NEW_STATUS[kind]
    review_reason = reason if kind is ChangeKind.REVIEW else None
    if item.status.value == status.value and item.review_reason == review_reason:
        return item
    if isinstance(item, Entity) and item.merged_into is not None:
        raise Conflict(f"The entity {item.entity_id} was merged into {item.merged_into}: undo that first.")
    fields: dict[str, object] = {
        "status": type(item.status)(status.value),
        "review_reason": review_reason,
        "version": item.version + 1,
    }
    if kind is ChangeKind.RESTORE:
        fields |= {"accessed_at": max(item.accessed_at or at, at), "access_count": item.access_count + 1}
        if isinstance(item, TypedMemory):
            fields |= {"conflicts_with": (), "superseded_by": None}
    return item.model_copy(update=fields)


async def log_restoration(unit: UnitOfWork, before: Reviewable, after: Reviewable, *, at: datetime) -> None:
    """Logs a change where an archived item, or one in review, became active because it was mentioned again."""
    if before.status is after.status or after.status.value != EntityStatus.ACTIVE.value:
        return
    change = new_change(
        ChangeKind.RESTORE,
        user_id=before.user_id,
        at=at,
        actor=ChangeActor.SYSTEM,
        reason="mentioned again",
        items=[ChangedItem.of(before, after)],
    )
    await unit.changes.append([change])


async def _walk_entities(unit: UnitOfWork, after: str | None) -> AsyncIterator[Entity]:
    while page := await unit.entities.page(after=after, limit=_PAGE):
        for entity in page:
            yield entity
        after = page[-1].entity_id
