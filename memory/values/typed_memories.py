"""Typed memories: facts as 001 shows them, one value of one type with its confidence and use (001 §2.1)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from .base import Scalar, Timestamp, UserId, Value
from .entities import Confidence
from .ids import typed_memory_id
from .predicates import shown_type

DEFAULT_CONFIDENCE = 0.5
"""001 §2.1."""

EntityTypeName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""001 §2.1: part_number, tlf19, intent, preference, …"""

EntityValue = Annotated[str, StringConstraints(min_length=1, max_length=1_024)]


class MemoryType(StrEnum):
    """The intended lifetime of a memory (001 §2.1)."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"


class MemoryPriority(StrEnum):
    """The importance of a memory (001 §2.1)."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class MemoryStatus(StrEnum):
    """001 §2.1: archived ones are found by nothing but an exact match; those in review are found as active ones are."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    REVIEW = "review"


class TypedMemory(Value):
    """001's Memory with the fields of its Qdrant extension: a fact as `memory.ports.stores.typed_memories` shows it.

    Args:
        memory_id: The id of the fact.
        content: What is embedded: the fact as a sentence, unless the caller gives another text.
        subject: Whom the value is said of: `memory.values.facts.SPEAKER`, or a name.
        sources: The log entries that say it, oldest first (001 §1.2).
        updated_at: When it was last said; reading it does not count.
        accessed_at: When it was last retrieved, said again or restored.
        access_count: How often that was.
        relevance_score: How well it answers a query, 0 to 1; set in results of a retrieval only.
        review_reason: Why it is in review.
        conflicts_with: Memories that it contradicts while neither has taken the other's place.
        supersedes: Memories whose place it took; they are kept, archived.
        superseded_by: The memory that took its place.
        unchecked: Whether conflicts could not be looked for when it was stored; they are when the index has it, or when
            it is said again.
    """

    memory_id: str
    user_id: UserId
    content: str
    memory_type: MemoryType = MemoryType.LONG_TERM
    priority: MemoryPriority = MemoryPriority.MEDIUM
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp
    updated_at: Timestamp
    accessed_at: Timestamp | None = None
    access_count: int = Field(default=0, ge=0)
    relevance_score: float = 0.0
    entity_type: str = ""
    entity_value: str = ""
    subject: str = "user"
    sources: tuple[str, ...] = ()
    confidence: Confidence = DEFAULT_CONFIDENCE
    status: MemoryStatus = MemoryStatus.ACTIVE
    review_reason: str | None = None
    conflicts_with: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    unchecked: bool = False
    version: int = 1

    def disputed_by(self, rivals: "Sequence[TypedMemory]") -> "TypedMemory":
        """The memory in review, with the memories that it contradicts as the reason."""
        quoted = "、".join(f"「{rival.entity_value}」" for rival in rivals)
        return self.model_copy(
            update={
                "status": MemoryStatus.REVIEW,
                "superseded_by": None,
                "conflicts_with": tuple(rival.memory_id for rival in rivals),
                "review_reason": f"與 {quoted} 衝突 / contradicts {quoted}",
            }
        )

    def undisputed(self) -> "TypedMemory":
        """The memory as active, contradicting nothing."""
        return self.model_copy(
            update={"status": MemoryStatus.ACTIVE, "superseded_by": None, "conflicts_with": (), "review_reason": None}
        )


class NewTypedMemory(Value):
    """A typed memory to store (001 §3.2 `store_entity`)."""

    entity_type: EntityTypeName
    entity_value: EntityValue
    content: str | None = None
    memory_type: MemoryType = MemoryType.LONG_TERM
    priority: MemoryPriority = MemoryPriority.MEDIUM
    metadata: dict[str, Scalar] = {}
    confidence: Confidence = DEFAULT_CONFIDENCE

    def memory(self, *, user_id: str, at: Timestamp) -> TypedMemory:
        """The memory that this makes where there is none of its type and value."""
        entity_type = shown_type(self.entity_type)
        return TypedMemory(
            memory_id=typed_memory_id(user_id, entity_type, self.entity_value),
            user_id=user_id,
            entity_type=entity_type,
            content=self.content or self.entity_value,
            created_at=at,
            updated_at=at,
            **self.model_dump(exclude={"content", "entity_type"}),
        )
