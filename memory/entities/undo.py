"""Undoing a change: what it touched is put back, in one transaction, where nothing else has touched it since."""

from datetime import datetime

from ..ports.record import SystemOfRecord, UnitOfWork
from ..values.base import Value
from ..values.changes import Change, ChangeActor, ChangedItem, ChangeKind, ItemKind, new_change
from ..values.errors import Conflict, NotFound
from .snapshots import load, reverted, used_since, value_of, weight_without, write

_LATER_SHOWN = 3
_NOTHING = 1e-9
"""A weight below this is what rounding leaves."""


async def undo(
    record: SystemOfRecord,
    change_id: str,
    *,
    user_id: str,
    at: datetime,
    actor: ChangeActor = ChangeActor.USER,
    reason: str = "",
) -> Change:
    """Undoes a change; returns the change that this is, which can be undone in turn.

    What was learned of a thing since (mentions, accesses) is kept; see `snapshots.reverted`.

    Raises:
        NotFound: The user has no such change.
        Conflict: It is undone already, or what it touched has changed since; the message says what.
    """
    async with record.writing(user_id=user_id) as unit:
        undoing = await undo_in(unit, change_id, user_id=user_id, at=at, actor=actor, reason=reason)
        await unit.commit()
    return undoing


async def undo_in(
    unit: UnitOfWork, change_id: str, *, user_id: str, at: datetime, actor: ChangeActor, reason: str = ""
) -> Change:
    """`undo` as a part of a larger unit of work, which the caller commits."""
    change = next(iter(await unit.changes.get([change_id])), None)
    if change is None:
        raise NotFound(f"change_id: there is no change {change_id!r}.")
    if change.undone_at is not None:
        raise Conflict(f"The change {change_id} was undone at {change.undone_at.isoformat()} already.")
    now = await load(unit, change.items)
    values: list[Value] = []
    gone: list[ChangedItem] = []
    touched: list[ChangedItem] = []
    obstacles: list[str] = []
    for item in change.items:
        current = now.get((item.kind, item.item_id))
        restored, reasons = _restored(item, current)
        obstacles += [f"{_name(item)}: {why}" for why in reasons]
        if restored is not None:
            values.append(restored)
        elif current is not None:
            gone.append(item)
        if restored is not None or current is not None:
            touched.append(ChangedItem.of(current, restored))
    if obstacles:
        raise Conflict(
            f"The change {change_id} ({change.kind}) cannot be undone, since what it touched has changed: "
            f"{'; '.join(obstacles)}.{await _later(unit, change)}"
        )
    await write(unit, values, gone)
    undoing = new_change(
        ChangeKind.UNDO,
        user_id=user_id,
        at=at,
        actor=actor,
        reason=reason or f"undo of {change.kind}",
        items=touched,
        about=change.subjects,
        undoes=change_id,
    )
    await unit.changes.append([undoing])
    await _mark(unit, change, at)
    [stored] = await unit.changes.get([undoing.change_id])
    return stored


async def latest_change(unit: UnitOfWork) -> str:
    """The id of the latest change that is neither undone nor an undoing itself.

    Raises:
        NotFound: There is none.
    """
    before = None
    while page := await unit.changes.list(before=before):
        for change in page:
            if change.undone_at is None and change.kind is not ChangeKind.UNDO:
                return change.change_id
        before = page[-1].sequence
    raise NotFound("change_id: there is no change that could be undone.")


def _restored(item: ChangedItem, current: Value | None) -> tuple[Value | None, list[str]]:
    """The thing as it should be again, None where it should not exist, and what stands in the way."""
    if item.after is None:
        if current is not None:
            return None, ["it exists again"]
        return (None if item.before is None else value_of(item.kind, item.before)), []
    if current is None:
        return None, ["it is gone"]
    now = current.model_dump(mode="json")
    if item.before is None and item.kind is ItemKind.RELATION:
        left = weight_without(item.after, now)  # what was observed since is the relation's own
        return (value_of(item.kind, {**now, "weight": left}) if left > _NOTHING else None), []
    if item.before is None:
        return None, [f"its {name} changed" for name in used_since(item.after, now)]
    fields, moved = reverted(item.before, item.after, now)
    if moved:
        return None, [f"its {name} changed" for name in moved]
    return value_of(item.kind, fields), []


async def _mark(unit: UnitOfWork, change: Change, at: datetime) -> None:
    """Marks the change undone; what it had undone is done again, and so on along the chain."""
    undone = True
    following: Change | None = change
    while following is not None:
        await unit.changes.mark_undone(following.change_id, at=at if undone else None)
        undone = not undone
        earlier = await unit.changes.get([following.undoes]) if following.undoes else []
        following = next(iter(earlier), None)


async def _later(unit: UnitOfWork, change: Change) -> str:
    """Names later changes to the same things, which may be undone first."""
    later: dict[str, Change] = {}
    for item in change.items:
        for one in await unit.changes.list(subject=item.item_id, limit=_LATER_SHOWN):
            if one.sequence > change.sequence and one.undone_at is None:
                later[one.change_id] = one
    if not later:
        return ""
    named = ", ".join(f"{one.change_id} ({one.kind}, {one.at.isoformat()})" for one in later.values())
    return f" Later changes to them: {named}."


def _name(item: ChangedItem) -> str:
    snapshot = item.after or item.before or {}
    spelling = snapshot.get("entity_value") or item.item_id
    return f"{item.kind} {spelling}"
