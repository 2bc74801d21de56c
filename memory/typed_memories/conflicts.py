"""Two values for one thing: finding them and what comes of it (001 §3.3, DESIGN §6, §11)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from ..values.base import Value
from ..values.text import normalise
from ..values.typed_memories import MemoryStatus, TypedMemory
from .identifiers import tell_apart


class Band(Protocol):
    """The cosines at which two memories may give different values for one thing."""

    def may_conflict(self, cosine: float) -> bool:
        """Whether this cosine is one of them."""
        ...


class Bands(Protocol):
    """The band for a pair of texts: `memory.typed_memories.bands.SimilarityBands` of a calibrated model, or a fixed
    one.
    """

    def of(self, left: str, right: str) -> Band:
        """The band for this pair."""
        ...


class FixedBand(Value):
    """001 §3.3's band, `lower < cosine < upper`, for every pair: set for all-mpnet-base-v2, for use until a model's own
    bands are calibrated.
    """

    lower: float = Field(default=0.85, ge=-1.0, le=1.0)
    upper: float = Field(default=1.0, ge=-1.0, le=1.0)

    def may_conflict(self, cosine: float) -> bool:
        """Whether the cosine lies between the two."""
        return self.lower < cosine < self.upper

    def of(self, left: str, right: str) -> "FixedBand":
        """The same for all."""
        return self


class Resolution(StrEnum):
    """What comes of a conflict: the surer new value takes the place of the old one, or a person decides."""

    OVERWRITE = "overwrite"
    REVIEW = "review"


class MemoryConflict(Value):
    """An active memory that a new value of its type contradicts (001 §3.3).

    Args:
        similarity: Cosine of the two.
    """

    existing: TypedMemory
    new_value: str
    new_confidence: float
    similarity: float
    resolution: Resolution


def conflicts_among(
    new: TypedMemory,
    others: Sequence[TypedMemory],
    cosines: Mapping[str, float],
    bands: Bands,
    *,
    many_valued: frozenset[str] = frozenset(),
) -> list[MemoryConflict]:
    """The conflicts of a new value with others, most similar first.

    Args:
        new: The new value.
        others: Memories of the same user.
        cosines: Their cosines with `new`, by id; those without one are left out.
        bands: Which cosines count, for the encoder that the cosines are of.
        many_valued: Types of which several values hold at once (allergies): never overwritten, only put in review.
    """
    overwrites = Resolution.REVIEW if new.entity_type in many_valued else Resolution.OVERWRITE
    found = [
        MemoryConflict(
            existing=old,
            new_value=new.entity_value,
            new_confidence=new.confidence,
            similarity=cosines[old.memory_id],
            resolution=overwrites if new.confidence > old.confidence else Resolution.REVIEW,
        )
        for old in others
        if old.memory_id in cosines
        and _rivals(new, old)
        and bands.of(new.content, old.content).may_conflict(cosines[old.memory_id])
    ]
    return sorted(found, key=lambda conflict: (-conflict.similarity, conflict.existing.memory_id))


def _rivals(new: TypedMemory, old: TypedMemory) -> bool:
    return (
        old.memory_id != new.memory_id
        and old.entity_type == new.entity_type
        and old.status is not MemoryStatus.ARCHIVED
        and normalise(old.entity_value) != normalise(new.entity_value)
        and not tell_apart(old.entity_value, new.entity_value)
    )


def in_conflict(memory: TypedMemory, conflicts: Sequence[MemoryConflict]) -> TypedMemory:
    """The memory in review, for as long as nobody has decided between it and what it contradicts."""
    rivals = [conflict.existing for conflict in conflicts]
    named = "、".join(f"「{rival.entity_value}」" for rival in rivals)
    return memory.model_copy(
        update={
            "status": MemoryStatus.REVIEW,
            "superseded_by": None,
            "conflicts_with": tuple(rival.memory_id for rival in rivals),
            "review_reason": f"與 {named} 衝突 / contradicts {named}",
        }
    )


def superseded(old: TypedMemory, by: TypedMemory, *, at: datetime) -> TypedMemory:
    """An old value after a surer one took its place: kept and linked, found by an exact match alone."""
    return old.model_copy(
        update={
            "status": MemoryStatus.ARCHIVED,
            "superseded_by": by.memory_id,
            "updated_at": at,
            "version": old.version + 1,
        }
    )


def superseding(new: TypedMemory, conflicts: Sequence[MemoryConflict]) -> TypedMemory:
    """A new value after it took the place of others."""
    ids = [conflict.existing.memory_id for conflict in conflicts]
    return new.model_copy(
        update={"supersedes": tuple(dict.fromkeys([*new.supersedes, *ids])), "version": new.version + 1}
    )
