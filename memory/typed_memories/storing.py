"""Writing a typed memory in one transaction: repeated, added, disputed or replacing others (001 §3)."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ..entities.statuses import log_restoration
from ..ports.stores.record import UnitOfWork
from ..values.entities import raised_confidence
from ..values.governance.changes import ChangeActor, ChangedItem, ChangeKind, new_change
from ..values.typed_memories import MemoryStatus, TypedMemory
from .conflicts import MemoryConflict, Resolution, archive_superseded, link_superseded

ConflictFinder = Callable[[TypedMemory], Sequence[MemoryConflict]]
"""Finds the conflicts of a memory, in the form in which it is about to be stored."""


async def save_and_resolve(
    unit: UnitOfWork, memory: TypedMemory, known: TypedMemory | None, find: ConflictFinder, *, at: datetime
) -> tuple[TypedMemory, Sequence[MemoryConflict]]:
    """Saves a memory and resolves its conflicts; the caller commits.

    Args:
        unit: The transaction.
        memory: The memory to store.
        known: Its stored version; None for a new memory.
        find: Finds the conflicts.
        at: The time of the change.

    Returns:
        The memory as it is stored, and its conflicts.
    """
    conflicts = find(memory)
    undecided = [conflict for conflict in conflicts if conflict.resolution is Resolution.REVIEW]
    overwritten = [conflict for conflict in conflicts if conflict.resolution is Resolution.OVERWRITE]
    if known is not None and await _successor_stands(unit, known, overwritten):
        await unit.typed_memories.save([memory])
        return memory, conflicts
    memory = memory.disputed_by(_rivals(undecided)) if undecided else memory.undisputed()
    if known is not None:
        await log_restoration(unit, known, memory, at=at)
    if overwritten:
        memory = await _overwrite(unit, memory, overwritten, disputed=memory.disputed_by(_rivals(conflicts)), at=at)
    await unit.typed_memories.save([memory])
    return memory, conflicts


def repeat(known: TypedMemory, new: TypedMemory, *, at: datetime) -> TypedMemory:
    """A stored memory after its value was given again: more confident, with the metadata of both (001 §3.2)."""
    return known.model_copy(
        update={
            "confidence": raised_confidence(known.confidence, new.confidence),
            "metadata": {**known.metadata, **new.metadata},
            "content": known.content if new.content == new.entity_value else new.content,
            "updated_at": max(known.updated_at, at),
            "accessed_at": max(known.accessed_at or at, at),
            "access_count": known.access_count + 1,
            "unchecked": new.unchecked,
            "version": known.version + 1,
        }
    )


async def _overwrite(
    unit: UnitOfWork, memory: TypedMemory, conflicts: Sequence[MemoryConflict], *, disputed: TypedMemory, at: datetime
) -> TypedMemory:
    """Replaces the conflicting memories; an undo leaves the new one `disputed`, as if it were not more confident."""
    winner = link_superseded(memory, conflicts)
    losers = [(conflict.existing, archive_superseded(conflict.existing, winner, at=at)) for conflict in conflicts]
    await unit.typed_memories.save([after for _, after in losers])
    replaced = ", ".join(
        f"「{conflict.existing.entity_value}」" + ("" if conflict.similarity is None else f" {conflict.similarity:.3f}")
        for conflict in conflicts
    )
    change = new_change(
        ChangeKind.OVERWRITE,
        user_id=memory.user_id,
        at=at,
        actor=ChangeActor.SYSTEM,
        reason=f"「{memory.entity_value}」 ({memory.confidence:.2f}) is more confident than {replaced}",
        items=[ChangedItem.of(disputed, winner), *(ChangedItem.of(before, after) for before, after in losers)],
    )
    await unit.changes.append([change])
    return winner


async def _successor_stands(unit: UnitOfWork, known: TypedMemory, overwritten: Sequence[MemoryConflict]) -> bool:
    """Whether the memory that replaced a known one is still active and is not overwritten in turn."""
    if known.superseded_by is None or known.superseded_by in [conflict.existing.memory_id for conflict in overwritten]:
        return False
    successors = await unit.typed_memories.get([known.superseded_by])
    return any(successor.status is not MemoryStatus.ARCHIVED for successor in successors)


def _rivals(conflicts: Sequence[MemoryConflict]) -> list[TypedMemory]:
    return [conflict.existing for conflict in conflicts]
