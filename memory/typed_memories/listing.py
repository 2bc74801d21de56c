"""What waits for a person: things in review, archived ones, and conflicts with what came of them (001 §3.3, §4)."""

from collections.abc import AsyncIterator

from ..entities.statuses import Keepable, KeepableKind, id_of
from ..ports.record import UnitOfWork
from ..values.base import Value
from ..values.changes import Change, ChangeKind
from ..values.typed_memories import MemoryStatus, TypedMemory

_PAGE = 256


class OpenConflict(Value):
    """A memory in review and what it contradicts; restoring or archiving either one settles it."""

    memory: TypedMemory
    contradicts: tuple[TypedMemory, ...]


class Conflicts(Value):
    """Conflicts of one user.

    Args:
        open: Those that a person should decide.
        overwritten: Those where the surer value took the place of the other; each can be undone by its `change_id`.
    """

    open: tuple[OpenConflict, ...]
    overwritten: tuple[Change, ...]


async def list_conflicts(unit: UnitOfWork, *, limit: int) -> Conflicts:
    """The user's conflicts: open ones in the order of their ids, overwritten ones latest first."""
    found: list[OpenConflict] = []
    after = None
    while len(found) < limit:
        page = await unit.typed_memories.page(after=after, limit=_PAGE, status=MemoryStatus.REVIEW)
        if not page:
            break
        after = page[-1].memory_id
        disputed = [memory for memory in page if memory.conflicts_with]
        found += [
            OpenConflict(memory=memory, contradicts=tuple(await unit.typed_memories.get(memory.conflicts_with)))
            for memory in disputed
        ]
    overwritten = await unit.changes.list(kind=ChangeKind.OVERWRITE, limit=limit)
    return Conflicts(open=tuple(found[:limit]), overwritten=tuple(overwritten))


async def list_by_status(
    unit: UnitOfWork, kind: KeepableKind, status: MemoryStatus, *, after: str | None, limit: int
) -> list[Keepable]:
    """Things of a kind and status in the order of their ids, from the first id greater than `after`."""
    found: list[Keepable] = []
    async for item in _with_status(unit, kind, status, after):
        found.append(item)
        if len(found) == limit:
            break
    return found


async def _with_status(
    unit: UnitOfWork, kind: KeepableKind, status: MemoryStatus, after: str | None
) -> AsyncIterator[Keepable]:
    while True:
        page: list[Keepable] = (
            [*await unit.entities.page(after=after, limit=_PAGE)]
            if kind is KeepableKind.ENTITY
            else [*await unit.typed_memories.page(after=after, limit=_PAGE, status=status)]
        )
        if not page:
            return
        for item in page:
            if item.status.value == status.value:
                yield item
        after = id_of(page[-1])
