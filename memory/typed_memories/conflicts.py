"""Conflicts: two typed memories that give different values for one thing (001 §3.3, DESIGN §6, §11)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from ..ports.record import UnitOfWork
from ..values.base import Value
from ..values.changes import Change, ChangeKind
from ..values.text import normalise
from ..values.typed_memories import MemoryStatus, TypedMemory
from .bands import Bands
from .identifiers import are_distinct

_PAGE = 256


class Resolution(StrEnum):
    """What follows from a conflict: the more confident new value replaces the old one, or a person decides."""

    OVERWRITE = "overwrite"
    REVIEW = "review"


class MemoryConflict(Value):
    """A stored memory that a new value of its type contradicts (001 §3.3). `similarity` is the cosine of the two."""

    existing: TypedMemory
    new_value: str
    new_confidence: float
    similarity: float
    resolution: Resolution


class OpenConflict(Value):
    """A memory in review and what it contradicts; restoring or archiving either one closes the conflict."""

    memory: TypedMemory
    contradicts: tuple[TypedMemory, ...]


class Conflicts(Value):
    """Conflicts of one user.

    Args:
        open: Those that a person should decide.
        overwritten: Those where the more confident value replaced the other; `change_id` undoes each.
    """

    open: tuple[OpenConflict, ...]
    overwritten: tuple[Change, ...]


def find_conflicts(
    new: TypedMemory,
    others: Sequence[TypedMemory],
    cosines: Mapping[str, float],
    bands: Bands,
    *,
    many_valued: frozenset[str] = frozenset(),
) -> list[MemoryConflict]:
    """The conflicts of a new value with other memories, most similar first.

    Args:
        new: The new value.
        others: Memories of the same user.
        cosines: Their cosines with `new`, by id; memories without one are skipped.
        bands: Which cosines may mean a conflict, for the encoder that the cosines come from.
        many_valued: Types that hold several values at once (allergies): never overwritten, only put in review.
    """
    if_surer = Resolution.REVIEW if new.entity_type in many_valued else Resolution.OVERWRITE
    conflicts = [
        MemoryConflict(
            existing=old,
            new_value=new.entity_value,
            new_confidence=new.confidence,
            similarity=cosines[old.memory_id],
            resolution=if_surer if new.confidence > old.confidence else Resolution.REVIEW,
        )
        for old in others
        if old.memory_id in cosines
        and _are_rivals(new, old)
        and bands.of(new.content, old.content).may_conflict(cosines[old.memory_id])
    ]
    return sorted(conflicts, key=lambda conflict: (-conflict.similarity, conflict.existing.memory_id))


async def list_conflicts(unit: UnitOfWork, *, limit: int) -> Conflicts:
    """The user's conflicts: open ones in the order of their ids, overwritten ones latest first."""
    open_conflicts: list[OpenConflict] = []
    after = None
    while len(open_conflicts) < limit:
        page = await unit.typed_memories.page(after=after, limit=_PAGE, status=MemoryStatus.REVIEW)
        if not page:
            break
        after = page[-1].memory_id
        for memory in page:
            if memory.conflicts_with:
                contradicted = await unit.typed_memories.get(memory.conflicts_with)
                open_conflicts.append(OpenConflict(memory=memory, contradicts=tuple(contradicted)))
    overwritten = await unit.changes.list(kind=ChangeKind.OVERWRITE, limit=limit)
    return Conflicts(open=tuple(open_conflicts[:limit]), overwritten=tuple(overwritten))


def put_in_review(memory: TypedMemory, conflicts: Sequence[MemoryConflict]) -> TypedMemory:
    """The memory in review, with the memories that it contradicts as the reason."""
    rivals = [conflict.existing for conflict in conflicts]
    quoted = "、".join(f"「{rival.entity_value}」" for rival in rivals)
    return memory.model_copy(
        update={
            "status": MemoryStatus.REVIEW,
            "superseded_by": None,
            "conflicts_with": tuple(rival.memory_id for rival in rivals),
            "review_reason": f"與 {quoted} 衝突 / contradicts {quoted}",
        }
    )


def archive_superseded(old: TypedMemory, by: TypedMemory, *, at: datetime) -> TypedMemory:
    """The old value after a more confident one replaced it: archived, linked, found by an exact match only."""
    return old.model_copy(
        update={
            "status": MemoryStatus.ARCHIVED,
            "superseded_by": by.memory_id,
            "updated_at": at,
            "version": old.version + 1,
        }
    )


def link_superseded(new: TypedMemory, conflicts: Sequence[MemoryConflict]) -> TypedMemory:
    """The new value with links to the memories that it replaced."""
    replaced = [conflict.existing.memory_id for conflict in conflicts]
    return new.model_copy(
        update={"supersedes": tuple(dict.fromkeys([*new.supersedes, *replaced])), "version": new.version + 1}
    )


def _are_rivals(new: TypedMemory, old: TypedMemory) -> bool:
    """Whether two memories can contradict each other at all, whatever their cosine."""
    return (
        old.memory_id != new.memory_id
        and old.entity_type == new.entity_type
        and old.status is not MemoryStatus.ARCHIVED
        and normalise(old.entity_value) != normalise(new.entity_value)
        and not are_distinct(old.entity_value, new.entity_value)
    )
