"""Request and reply bodies of memory protection and review (001)."""

from typing import Annotated

from pydantic import Field

from memory.entities.statuses import Keepable, KeepableKind
from memory.retrieval.fusion import TYPED_MEMORY_HOTNESS
from memory.typed_memories.conflicts import MemoryConflict
from memory.typed_memories.hot_retrieval import MAX_LIMIT
from memory.values.changes import Change
from memory.values.typed_memories import MemoryPriority, MemoryType, TypedMemory

from .fields import Count, Flag, Identifier, Metadata, RequestModel, Text, example

EntityTypeIn = Annotated[Identifier, Field(max_length=64)]
ValueIn = Annotated[Text, Field(max_length=1_024)]
ConfidenceIn = Annotated[float, Field(ge=0, le=1, strict=True)]
ReasonIn = Annotated[str, Field(max_length=1_024)]
Limit = Annotated[Count, Field(ge=1, le=MAX_LIMIT)]


class StoreEntityBody(RequestModel):
    """A typed value to keep (001 §3.2 `store_entity`)."""

    model_config = example(
        {"user_id": "ada", "entity_type": "part_number", "entity_value": "RM05-008", "confidence": 0.8}
    )

    user_id: Identifier
    entity_type: EntityTypeIn = Field(description="part_number, tlf19, intent, preference, …")
    entity_value: ValueIn
    content: Text | None = Field(default=None, description="What is embedded, where it says more than the value.")
    memory_type: MemoryType = MemoryType.LONG_TERM
    priority: MemoryPriority = MemoryPriority.MEDIUM
    metadata: Metadata = {}
    confidence: ConfidenceIn = 0.5


class RetrieveBody(RequestModel):
    """A question to typed memories (001 §3.4 `retrieve_entities`)."""

    model_config = example({"user_id": "ada", "query": "RM05-008 還有庫存嗎？"})

    user_id: Identifier
    query: Text
    min_confidence: ConfidenceIn = TYPED_MEMORY_HOTNESS.min_confidence
    limit: Limit = TYPED_MEMORY_HOTNESS.limit
    entity_type: EntityTypeIn | None = None


class DetectBody(RequestModel):
    """A value that is not stored yet (001 §3.3 `detect_conflicts`)."""

    model_config = example(
        {"user_id": "ada", "entity_type": "preference", "new_value": "平常愛喝拿鐵", "new_confidence": 0.9}
    )

    user_id: Identifier
    entity_type: EntityTypeIn
    new_value: ValueIn
    new_confidence: ConfidenceIn = 0.5


class DetectReply(RequestModel):
    """What the value would contradict, most similar first, and what would come of it."""

    conflicts: tuple[MemoryConflict, ...]


class TypedMemoryList(RequestModel):
    """Typed memories in the order of their ids; `next` is where the next page begins."""

    results: tuple[TypedMemory, ...]
    next: str | None


class ChangeList(RequestModel):
    """Changes, latest first; `next` is the `before` of the next page."""

    results: tuple[Change, ...]
    next: int | None


class UndoBody(RequestModel):
    """Which change to undo, and why."""

    model_config = example({"user_id": "ada", "reason": "two companies after all"})

    user_id: Identifier
    change_id: Identifier | None = Field(default=None, description="The latest that is not undone, where not given.")
    reason: ReasonIn = ""


class ReviewList(RequestModel):
    """Entities or typed memories of a status, in the order of their ids; `next` is where the next page begins."""

    results: tuple[Keepable, ...]
    next: str | None


class StatusBody(RequestModel):
    """What to archive, restore or mark for review."""

    model_config = example({"user_id": "ada", "kind": "entity", "id": "宏康 HCI", "reason": "not used any more"})

    user_id: Identifier
    kind: KeepableKind = KeepableKind.ENTITY
    id: Identifier = Field(description="Its id; for an entity also one of its names.")
    reason: ReasonIn = ""


class StatusReply(RequestModel):
    """The thing as it is now, and the change that made it so; null where it was so already."""

    item: Keepable
    change: Change | None


class ReviewRunBody(RequestModel):
    """Whose memory to review; everybody's where no user is given."""

    model_config = example({"user_id": "ada", "dry_run": True})

    user_id: Identifier | None = None
    dry_run: Flag = Field(default=False, description="Say what would be archived or marked, and change nothing.")
