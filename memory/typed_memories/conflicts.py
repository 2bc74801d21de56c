"""Conflicts: two typed memories that give different values for one thing (001 §3.3, DESIGN §6, §11)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from ..ports.stores.record import UnitOfWork
from ..values.base import Value
from ..values.governance.changes import Change, ChangeKind
from ..values.predicates import has_many_values, has_one_value
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
    """A stored memory that a new value of its type contradicts (001 §3.3).

    `similarity` is the cosine of the two; None where it is unknown and the type has one value only.
    """

    existing: TypedMemory
    new_value: str
    new_confidence: float
    similarity: float | None
    resolution: Resolution


class OpenConflict(Value):
    """A memory in review and what it contradicts; restoring or archiving either one closes the conflict."""

    memory: TypedMemory
    contradicts: tuple[TypedMemory, ...]


class Conflicts(Value):
    """Conflicts of one user.

    Args:
        open: Those that a person should decide.
        overwritten: Those where the more confident value, or what was said later, replaced the other; `change_id`
            undoes each.
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
        cosines: Their cosines with `new`, by id; memories without one are skipped, unless the type has one value only
            (a home city): then any other value contradicts.
        bands: Which cosines may mean a conflict, for the encoder that the cosines come from.
        many_valued: Types that hold several values at once, besides those of many-valued predicates (allergies): never
            overwritten, only put in review.
    """
    has_many = new.entity_type in many_valued or has_many_values(new.entity_type)
    if_surer = Resolution.REVIEW if has_many else Resolution.OVERWRITE
    conflicts = [
        MemoryConflict(
            existing=old,
            new_value=new.entity_value,
            new_confidence=new.confidence,
            similarity=cosines.get(old.memory_id),
            resolution=if_surer if new.confidence > old.confidence else Resolution.REVIEW,
        )
        for old in others
        if _are_rivals(new, old) and (has_one_value(new.entity_type) or _are_alike(new, old, cosines, bands))
    ]
    return sorted(conflicts, key=lambda conflict: (-(conflict.similarity or 0.0), conflict.existing.memory_id))


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
                current = tuple(rival for rival in contradicted if rival.status is not MemoryStatus.ARCHIVED)
                open_conflicts += [OpenConflict(memory=memory, contradicts=current)] if current else []
    overwritten = await unit.changes.list(kind=ChangeKind.OVERWRITE, limit=limit)
    return Conflicts(open=tuple(open_conflicts[:limit]), overwritten=tuple(overwritten))


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
        and normalise(old.subject) == normalise(new.subject)
        and old.status is not MemoryStatus.ARCHIVED
        and normalise(old.entity_value) != normalise(new.entity_value)
    )


def _are_alike(new: TypedMemory, old: TypedMemory, cosines: Mapping[str, float], bands: Bands) -> bool:
    """Whether their texts are so similar that they may say different things of one matter; identifiers never are."""
    cosine = cosines.get(old.memory_id)
    return (
        cosine is not None
        and not are_distinct(old.entity_value, new.entity_value)
        and bands.of(new.content, old.content).may_conflict(cosine)
    )
