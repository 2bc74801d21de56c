"""Typed memories: one value of one type that a user's memory holds, with its confidence and use (001 §2.1)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from .base import Scalar, Timestamp, UserId, Value
from .entities import Confidence
from .ids import typed_memory_id

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
    """001's Memory with the fields of its Qdrant extension; a user has one of each type and value.

    Args:
        content: What is embedded: the value, unless the caller says it at more length.
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
    confidence: Confidence = DEFAULT_CONFIDENCE
    status: MemoryStatus = MemoryStatus.ACTIVE
    review_reason: str | None = None
    conflicts_with: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    unchecked: bool = False
    version: int = 1


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
        return TypedMemory(
            memory_id=typed_memory_id(user_id, self.entity_type, self.entity_value),
            user_id=user_id,
            content=self.content or self.entity_value,
            created_at=at,
            updated_at=at,
            **self.model_dump(exclude={"content"}),
        )
