"""Undoing a change: every item that it touched is reverted in one transaction, if nothing else has changed it since."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue, ValidationError

from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..relations.strength import current_strength
from ..values.base import Value
from ..values.entities import Entity, EntityRelation
from ..values.errors import Conflict, NotFound
from ..values.governance.changes import (
    KINDS,
    NOT_UNDONE,
    Change,
    ChangeActor,
    ChangedItem,
    ChangeKind,
    ItemKind,
    JsonObject,
    new_change,
)
from ..values.records import Memory
from ..values.typed_memories import TypedMemory

_COUNTS = frozenset({"mention_count", "access_count"})
"""Counts keep what was added after the change."""
_TIMES = frozenset({"first_mentioned", "last_mentioned", "last_accessed_at", "accessed_at", "updated_at"})
"""Times of use keep a value that was set after the change."""
_SETS = frozenset({"aliases", "entity_ids", "related_entities"})
"""Lists without order keep the elements that were added, and lack those that were removed, after the change."""
_LATEST_OBSERVATION = frozenset({"description", "evidence", "evidence_start", "evidence_end"})
"""What a relation holds of its latest observation is kept where one came after the change."""
_CHANGED_BY_READING = frozenset({"access_count", "last_accessed_at", "accessed_at", "version"})
"""Fields that reading an item changes; they do not keep an undo from deleting it."""

_TYPES = {kind: type_ for type_, kind in KINDS.items()}
_MAX_LATER_SHOWN = 3
_MIN_WEIGHT = 1e-9
"""A relation whose weight is below this has only rounding errors left."""


async def undo(
    record: SystemOfRecord,
    change_id: str,
    *,
    user_id: str,
    at: datetime,
    actor: ChangeActor = ChangeActor.USER,
    reason: str = "",
) -> Change:
    """Undoes a change in a transaction of its own; see `undo_in`."""
    async with record.writing(user_id=user_id) as unit:
        undoing = await undo_in(unit, change_id, user_id=user_id, at=at, actor=actor, reason=reason)
        await unit.commit()
    return undoing


async def undo_in(
    unit: UnitOfWork, change_id: str, *, user_id: str, at: datetime, actor: ChangeActor, reason: str = ""
) -> Change:
    """Undoes a change in the caller's transaction; returns the undoing change, which can be undone in turn.

    Mentions and accesses that were counted after the change are kept; see `revert_fields`.

    Raises:
        NotFound: The user has no such change.
        Conflict: It is undone already, keeps no former state, or an item that it touched has changed since; the message
            says which.
    """
    change = next(iter(await unit.changes.get([change_id])), None)
    if change is None:
        raise NotFound(f"change_id: there is no change {change_id!r}.")
    if change.kind in NOT_UNDONE:
        raise Conflict(f"The change {change_id} ({change.kind}) keeps no former state: it cannot be undone.")
    if change.undone_at is not None:
        raise Conflict(f"The change {change_id} was undone at {change.undone_at.isoformat()} already.")
    current_values = await _load(unit, change.items)
    reverted: list[Value] = []
    deleted: list[ChangedItem] = []
    undone_items: list[ChangedItem] = []
    obstacles: list[str] = []
    for item in change.items:
        current = current_values.get((item.kind, item.item_id))
        earlier, reasons = _revert(item, current)
        if change.kind is ChangeKind.ARCHIVE and isinstance(earlier, Entity | TypedMemory):
            # as restoring does: else the next review would archive it again
            earlier = earlier.model_copy(update={"accessed_at": max(earlier.accessed_at or at, at)})
        obstacles += [f"{_label(item)}: {why}" for why in reasons]
        if earlier is not None:
            reverted.append(earlier)
        elif current is not None:
            deleted.append(item)
        if earlier is not None or current is not None:
            undone_items.append(ChangedItem.of(current, earlier))
    if obstacles:
        raise Conflict(
            f"The change {change_id} ({change.kind}) cannot be undone, since what it touched has changed: "
            f"{'; '.join(obstacles)}.{await _list_later_changes(unit, change)}"
        )
    await _write(unit, reverted, deleted)
    undoing = new_change(
        ChangeKind.UNDO,
        user_id=user_id,
        at=at,
        actor=actor,
        reason=reason or f"undo of {change.kind}",
        items=undone_items,
        about=change.subjects,
        undoes=change_id,
    )
    await unit.changes.append([undoing])
    await _mark_undone(unit, change, at)
    [stored] = await unit.changes.get([undoing.change_id])
    return stored


async def get_latest_change(unit: UnitOfWork) -> str:
    """The id of the latest change that is neither undone nor an undo itself, and keeps a former state.

    Raises:
        NotFound: There is none.
    """
    before = None
    while page := await unit.changes.list(before=before):
        for change in page:
            if change.undone_at is None and change.kind not in {ChangeKind.UNDO, *NOT_UNDONE}:
                return change.change_id
        before = page[-1].sequence
    raise NotFound("change_id: there is no change that could be undone.")


def revert_fields(before: JsonObject, after: JsonObject, now: JsonObject) -> tuple[JsonObject, list[str]]:
    """Reverts in the current snapshot what a change did; returns the result and the fields that prevent it.

    A field that the change did not touch keeps its current value. One that it touched gets its old value if it has that
    one again, or still has the value that the change gave it. If it has another one: counts, lists and the weight of a
    relation keep what was added since, times and evidence stay, confidence gets its old value; any other field prevents
    the undo.
    """
    result, obstacles = dict(now), []
    for name in before.keys() & after.keys() & now.keys():
        old, left, current = before[name], after[name], now[name]
        if name == "version":
            result[name] = _as_int(current) + 1
        elif old == left or (name in _TIMES | _LATEST_OBSERVATION and current != left):
            continue
        elif name in _SETS:
            result[name] = _revert_set(old, left, current)
        elif name == "weight" and current != left:
            result[name] = _weight_without(after, now, instead=before)
        elif name in _COUNTS:
            result[name] = max(0, _as_int(old) + _as_int(current) - _as_int(left))
        elif current in (old, left) or name == "confidence":
            result[name] = old
        else:
            obstacles.append(name)
    return result, sorted(obstacles)


def _revert(item: ChangedItem, current: Value | None) -> tuple[Value | None, list[str]]:
    """The item as it should be after the undo, None where it should not exist, and what prevents the undo."""
    if item.after is None:
        if current is not None:
            return None, ["it exists again"]
        return (None if item.before is None else _validate(item.kind, item.before)), []
    if current is None:
        return None, ["it is gone"]
    now = current.model_dump(mode="json")
    if item.before is None and item.kind is ItemKind.RELATION:
        weight = _weight_without(item.after, now)  # later observations keep the relation
        return (_validate(item.kind, {**now, "weight": weight}) if weight > _MIN_WEIGHT else None), []
    if item.before is None:
        created = item.after
        changed = sorted(
            name for name in created.keys() & now.keys() - _CHANGED_BY_READING if created[name] != now[name]
        )
        return None, [f"its {name} changed" for name in changed]
    fields, obstacles = revert_fields(item.before, item.after, now)
    if obstacles:
        return None, [f"its {name} changed" for name in obstacles]
    return _validate(item.kind, fields), []


async def _load(unit: UnitOfWork, items: Iterable[ChangedItem]) -> dict[tuple[ItemKind, str], Value]:
    """The current values by kind and id, without those that do not exist."""
    ids: dict[ItemKind, list[str]] = {}
    for item in items:
        ids.setdefault(item.kind, []).append(item.item_id)
    current: dict[tuple[ItemKind, str], Value] = {}
    for kind, wanted in ids.items():
        match kind:
            case ItemKind.ENTITY:
                current |= {(kind, entity.entity_id): entity for entity in await unit.entities.get(wanted)}
            case ItemKind.RELATION:
                current |= {(kind, relation.relation_id): relation for relation in await unit.relations.get(wanted)}
            case ItemKind.MEMORY:
                current |= {(kind, memory.memory_id): memory for memory in await unit.memories.get(wanted)}
            case ItemKind.TYPED_MEMORY:
                current |= {(kind, memory.memory_id): memory for memory in await unit.typed_memories.get(wanted)}
    return current


async def _write(unit: UnitOfWork, values: Sequence[Value], deleted: Sequence[ChangedItem]) -> None:
    """Saves the values and deletes the items; the vector index follows through the outbox."""
    deleted_ids = {kind: [item.item_id for item in deleted if item.kind is kind] for kind in ItemKind}
    await unit.relations.delete(deleted_ids[ItemKind.RELATION])  # before the entities that they connect
    await unit.erasure.delete(facts=deleted_ids[ItemKind.TYPED_MEMORY])
    await unit.memories.delete(deleted_ids[ItemKind.MEMORY])
    await unit.entities.delete(deleted_ids[ItemKind.ENTITY])
    await unit.entities.save([value for value in values if isinstance(value, Entity)])
    await unit.memories.save([value for value in values if isinstance(value, Memory)])
    await unit.typed_memories.save([value for value in values if isinstance(value, TypedMemory)])
    await unit.relations.store([value for value in values if isinstance(value, EntityRelation)])


def _validate(kind: ItemKind, snapshot: Mapping[str, Any]) -> Value:
    """The value that a snapshot was taken of.

    Raises:
        Conflict: Another version of Jiyi took the snapshot, with other fields.
    """
    try:
        return _TYPES[kind].model_validate(dict(snapshot))
    except ValidationError as error:
        raise Conflict(f"The change was recorded by another version of Jiyi: its {kind} cannot be read.") from error


def _weight_without(after: JsonObject, now: JsonObject, *, instead: JsonObject | None = None) -> float:
    """The current weight of a relation without what a change gave it, plus what it had `instead`; at least 0."""
    relation = EntityRelation.model_validate(now)
    given = current_strength(EntityRelation.model_validate(after), relation.updated_at)
    earlier = current_strength(EntityRelation.model_validate(instead), relation.updated_at) if instead else 0.0
    return max(0.0, relation.weight - given + earlier)


def _revert_set(old: Any, left: Any, current: Any) -> list[JsonValue]:
    kept = [element for element in old if element in current or element not in left]
    return [*kept, *(element for element in current if element not in left and element not in kept)]


def _as_int(value: Any) -> int:
    return int(value)


async def _mark_undone(unit: UnitOfWork, change: Change, at: datetime) -> None:
    """Marks the change as undone; the change that it had undone is in force again, and so on along the chain."""
    undone = True
    following: Change | None = change
    while following is not None:
        await unit.changes.mark_undone(following.change_id, at=at if undone else None)
        undone = not undone
        earlier = await unit.changes.get([following.undoes]) if following.undoes else []
        following = next(iter(earlier), None)


async def _list_later_changes(unit: UnitOfWork, change: Change) -> str:
    """A sentence that names later changes to the same items, which may be undone first."""
    later: dict[str, Change] = {}
    for item in change.items:
        for other in await unit.changes.list(subject=item.item_id, limit=_MAX_LATER_SHOWN):
            if other.sequence > change.sequence and other.undone_at is None:
                later[other.change_id] = other
    if not later:
        return ""
    described = ", ".join(f"{other.change_id} ({other.kind}, {other.at.isoformat()})" for other in later.values())
    return f" Later changes to them: {described}."


def _label(item: ChangedItem) -> str:
    snapshot = item.after or item.before or {}
    return f"{item.kind} {snapshot.get('entity_value') or item.item_id}"
