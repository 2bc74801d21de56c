"""Writing a typed value down in one transaction: said again, added, disputed or taking the place of others (001 §3)."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ..entities.statuses import log_restored
from ..ports.record import UnitOfWork
from ..values.changes import ChangeActor, ChangedItem, ChangeKind, new_change
from ..values.confidence import agreed
from ..values.typed_memories import MemoryStatus, TypedMemory
from .conflicts import MemoryConflict, Resolution, in_conflict, superseded, superseding

FindConflicts = Callable[[TypedMemory], Sequence[MemoryConflict]]
"""What a memory, as it is to be kept, contradicts."""


async def store(
    unit: UnitOfWork, said: TypedMemory, known: TypedMemory | None, find: FindConflicts, *, at: datetime
) -> tuple[TypedMemory, Sequence[MemoryConflict]]:
    """Keeps a value and deals with its conflicts; the caller commits.

    Args:
        unit: The transaction.
        said: The value as a new memory.
        known: The memory that has the value already.
        find: Finds what it contradicts.
        at: The time.

    Returns:
        The memory as it is kept, and its conflicts.
    """
    memory = said if known is None else said_again(known, said, at=at)
    return await settle(unit, memory, known, find, at=at)


async def settle(
    unit: UnitOfWork, memory: TypedMemory, known: TypedMemory | None, find: FindConflicts, *, at: datetime
) -> tuple[TypedMemory, Sequence[MemoryConflict]]:
    """Keeps a memory as it is to be and deals with its conflicts; the caller commits.

    Args:
        unit: The transaction.
        memory: What is to be kept.
        known: What is kept of it until now.
        find: Finds what it contradicts.
        at: The time.

    Returns:
        The memory as it is kept, and its conflicts.
    """
    conflicts = find(memory)
    open_ = [conflict for conflict in conflicts if conflict.resolution is Resolution.REVIEW]
    overwritten = [conflict for conflict in conflicts if conflict.resolution is Resolution.OVERWRITE]
    if known is not None and await _is_outdone(unit, known, overwritten):
        await unit.typed_memories.save([memory])
        return memory, conflicts
    memory = in_conflict(memory, open_) if open_ else _settled(memory)
    if known is not None:
        await log_restored(unit, known, memory, at=at)
    if overwritten:
        memory = await _overwrite(unit, memory, overwritten, disputed=in_conflict(memory, conflicts), at=at)
    await unit.typed_memories.save([memory])
    return memory, conflicts


def said_again(known: TypedMemory, said: TypedMemory, *, at: datetime) -> TypedMemory:
    """A memory after its value was said again: surer, in use, with the new metadata beside the old (001 §3.2)."""
    return known.model_copy(
        update={
            "confidence": agreed(known.confidence, said.confidence),
            "metadata": {**known.metadata, **said.metadata},
            "content": known.content if said.content == said.entity_value else said.content,
            "updated_at": max(known.updated_at, at),
            "accessed_at": max(known.accessed_at or at, at),
            "access_count": known.access_count + 1,
            "unchecked": said.unchecked,
            "version": known.version + 1,
        }
    )


async def _overwrite(
    unit: UnitOfWork,
    memory: TypedMemory,
    conflicts: Sequence[MemoryConflict],
    *,
    disputed: TypedMemory,
    at: datetime,
) -> TypedMemory:
    """Lets a memory take the place of others; undoing that leaves it in review, as if it had not been the surer one."""
    winner = superseding(memory, conflicts)
    losers = [(conflict.existing, superseded(conflict.existing, winner, at=at)) for conflict in conflicts]
    await unit.typed_memories.save([after for _, after in losers])
    cosines = ", ".join(f"「{one.existing.entity_value}」 {one.similarity:.3f}" for one in conflicts)
    change = new_change(
        ChangeKind.OVERWRITE,
        user_id=memory.user_id,
        at=at,
        actor=ChangeActor.SYSTEM,
        reason=f"「{memory.entity_value}」 ({memory.confidence:.2f}) is surer than {cosines}",
        items=[ChangedItem.of(disputed, winner), *(ChangedItem.of(before, after) for before, after in losers)],
    )
    await unit.changes.append([change])
    return winner


async def _is_outdone(unit: UnitOfWork, known: TypedMemory, overwritten: Sequence[MemoryConflict]) -> bool:
    """Whether what took the place of a memory is there and still the surer one."""
    if known.superseded_by is None or known.superseded_by in [one.existing.memory_id for one in overwritten]:
        return False
    successors = await unit.typed_memories.get([known.superseded_by])
    return any(one.status is not MemoryStatus.ARCHIVED for one in successors)


def _settled(memory: TypedMemory) -> TypedMemory:
    """The memory as one that nothing is wrong with: to say something again brings it back."""
    return memory.model_copy(
        update={"status": MemoryStatus.ACTIVE, "superseded_by": None, "conflicts_with": (), "review_reason": None}
    )
