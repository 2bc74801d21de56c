"""Request and reply bodies of typed memories, changes and the review (001)."""

from typing import Annotated

from pydantic import Field, StrictInt

from memory.entities.statuses import Reviewable, ReviewableKind
from memory.typed_memories.conflicts import MemoryConflict
from memory.typed_memories.retrieval import MAX_LIMIT, TYPED_MEMORY_HOTNESS
from memory.values.base import WHOLE
from memory.values.governance.changes import Change
from memory.values.typed_memories import MemoryPriority, MemoryType, TypedMemory

from ..fields import Flag, Identifier, Metadata, RequestModel, Text, examples
from ..users import ChosenUser, User

EntityTypeIn = Annotated[Identifier, Field(max_length=64)]
ValueIn = Annotated[Text, Field(max_length=1_024)]
ConfidenceIn = Annotated[float, Field(ge=0, le=1, strict=True)]
ReasonIn = Annotated[str, Field(max_length=1_024)]
Limit = Annotated[StrictInt, Field(ge=1, le=MAX_LIMIT), WHOLE]


class StoreEntityBody(RequestModel):
    """A typed value to store (001 §3.2 `store_entity`)."""

    model_config = examples(
        {"user_id": "ada", "entity_type": "part_number", "entity_value": "RM05-008", "confidence": 0.8}
    )

    user_id: User
    entity_type: EntityTypeIn = Field(description="part_number, tlf19, intent, preference, …")
    entity_value: ValueIn
    content: Text | None = Field(default=None, description="The text to embed, if it says more than the value.")
    memory_type: MemoryType = MemoryType.LONG_TERM
    priority: MemoryPriority = MemoryPriority.MEDIUM
    metadata: Metadata = {}
    confidence: ConfidenceIn = 0.5


class RetrieveBody(RequestModel):
    """A search among typed memories (001 §3.4 `retrieve_entities`)."""

    model_config = examples({"user_id": "ada", "query": "RM05-008 還有庫存嗎？"})

    user_id: User
    query: Text
    min_confidence: ConfidenceIn = TYPED_MEMORY_HOTNESS.min_confidence
    limit: Limit = TYPED_MEMORY_HOTNESS.limit
    entity_type: EntityTypeIn | None = None


class DetectBody(RequestModel):
    """A value to check before storing it (001 §3.3 `detect_conflicts`)."""

    model_config = examples(
        {"user_id": "ada", "entity_type": "preference", "new_value": "平常愛喝拿鐵", "new_confidence": 0.9}
    )

    user_id: User
    entity_type: EntityTypeIn
    new_value: ValueIn
    new_confidence: ConfidenceIn = 0.5


class DetectReply(RequestModel):
    """The memories that the value contradicts, most similar first, and how each conflict would be resolved."""

    conflicts: tuple[MemoryConflict, ...]


class TypedMemoryList(RequestModel):
    """Typed memories in the order of their ids; `next` is the `after` of the next page."""

    results: tuple[TypedMemory, ...]
    next: str | None


class ChangeList(RequestModel):
    """Changes, latest first; `next` is the `before` of the next page."""

    results: tuple[Change, ...]
    next: int | None


class UndoBody(RequestModel):
    """The change to undo, and why."""

    model_config = examples({"user_id": "ada", "reason": "two companies after all"})

    user_id: User
    change_id: Identifier | None = Field(default=None, description="Default: the latest change that is not undone.")
    reason: ReasonIn = ""


class ReviewList(RequestModel):
    """Entities or typed memories of a status in the order of their ids; `next` is the `after` of the next page."""

    results: tuple[Reviewable, ...]
    next: str | None


class StatusBody(RequestModel):
    """The item to archive, restore or mark for review."""

    model_config = examples({"user_id": "ada", "kind": "entity", "id": "宏康 HCI", "reason": "not used any more"})

    user_id: User
    kind: ReviewableKind = ReviewableKind.ENTITY
    id: Identifier = Field(description="The id of the item; for an entity also one of its names.")
    reason: ReasonIn = ""


class StatusReply(RequestModel):
    """The item as it is now, and the change; null where it had that status already."""

    item: Reviewable
    change: Change | None


class ReviewRunBody(RequestModel):
    """The user whose memory to review; all users where none is given."""

    model_config = examples({"user_id": "ada", "dry_run": True})

    user_id: ChosenUser | None = None
    dry_run: Flag = Field(default=False, description="Report what would be archived or marked, and change nothing.")
