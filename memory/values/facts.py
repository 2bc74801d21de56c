"""Facts, their categories and the graph that they span (002 §3, DESIGN §4).

A `Fact` is the Item of 002; `memory.facts` says how facts change, `memory.learning.facts` makes them of the log.
"""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from .base import Scalar, Timestamp, UserId, Value
from .entities import Confidence
from .typed_memories import MemoryPriority, MemoryType
from .understanding.readings import Qualifier

SPEAKER = "user"
"""The subject of facts about the user."""


class FactStatus(StrEnum):
    """002 §3.3: active ⇄ archived → deleted."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    DELETED = "deleted"


class Ending(StrEnum):
    """Why a fact holds no longer; a fact that a job archived has none, and comes back when it is said again."""

    REPLACED = "replaced"
    """Another value took its place."""
    ENDED = "ended"
    """It was said to be over."""
    RETRACTED = "retracted"
    """It was said to be wrong: it never held."""
    CANCELLED = "cancelled"
    """A plan that will not be carried out."""


class MemoryDetails(Value):
    """What 001 keeps of a memory besides what 002 keeps of a fact (see `memory.values.typed_memories.TypedMemory`).

    `also_supersedes` are further facts that one took the place of, besides `Fact.supersedes`.
    """

    content: str | None = None
    memory_type: MemoryType = MemoryType.LONG_TERM
    priority: MemoryPriority = MemoryPriority.MEDIUM
    metadata: dict[str, Scalar] = {}
    in_review: bool = False
    review_reason: str | None = None
    also_supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    unchecked: bool = False
    version: int = 1


class Fact(Value):
    """A statement with subject, predicate, object and period of validity.

    `supersedes` is the id of the fact that this one replaced, which stays in the record, archived. `valid_from` and
    `valid_to` bound the time in which it holds, `recorded_at` is when Jiyi learned it: "used to like A, now likes B"
    answers questions about now and about then. Names are compared by `memory.values.text.normalise`.

    `accessed_at` is when an answer or a prompt held it last, `promoted_at` the last such use that has raised its
    confidence, `decayed_at` the moment up to which age has lowered it: repeating a job changes nothing (002 §5).

    Args:
        resource_id: The log entry that stated it first; empty where that was never logged.
        subject: `SPEAKER`, or the name of the entity `subject_id` where that is known.
        evidence: The log entries that said it again, oldest first.
        qualifiers: How it holds; a NEGATED fact says that the statement is false.
        time: Its time as it was said.
        valid_from: None where the begin is not known.
        valid_to: The end, which does not belong to it; None while none is known.
        ending: Why it is over.
        ended_by: The log entry that ended it.
        conflicts_with: Facts that it contradicts while neither has taken the other's place.
        doubtful_since: When something changed that this fact hangs on; None where it is not in doubt.
        doubted_by: The id of the changed fact.
        details: None while all have their defaults.
    """

    fact_id: str
    user_id: UserId
    resource_id: str
    subject: str
    predicate: str
    object: str
    category: str
    confidence: Confidence = 1.0
    status: FactStatus = FactStatus.ACTIVE
    supersedes: str | None = None
    valid_from: Timestamp | None = None
    valid_to: Timestamp | None = None
    subject_id: str | None = None
    object_id: str | None = None
    evidence: tuple[str, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()
    time: str | None = None
    ending: Ending | None = None
    ended_by: str | None = None
    conflicts_with: tuple[str, ...] = ()
    doubtful_since: Timestamp | None = None
    doubted_by: str | None = None
    recorded_at: Timestamp
    updated_at: Timestamp
    access_count: int = Field(default=0, ge=0)
    accessed_at: Timestamp | None = None
    promoted_at: Timestamp | None = None
    decayed_at: Timestamp | None = None
    details: MemoryDetails | None = None

    def holds(self, at: datetime) -> bool:
        """Whether it is true at a time, as far as is known; plans, and what was found to be wrong, hold at none."""
        if self.status is FactStatus.DELETED or self.ending is Ending.RETRACTED or self.is_planned:
            return False
        return (self.valid_from is None or self.valid_from <= at) and (self.valid_to is None or at < self.valid_to)

    @property
    def is_negated(self) -> bool:
        """Whether it says that the statement is false."""
        return Qualifier.NEGATED in self.qualifiers

    @property
    def is_planned(self) -> bool:
        """Whether it is only intended."""
        return Qualifier.PLANNED in self.qualifiers


class Standing(StrEnum):
    """How a fact stands at the time that a question asks about."""

    HOLDS = "holds"
    DOUBTFUL = "doubtful"
    """It held until something changed that it hangs on, and nobody has said whether it still does."""
    HELD = "held"
    """The question asks about an earlier time, and it held then."""
    OUTDATED = "outdated"
    """It is no answer: replaced, ended, cancelled or taken back, or not so at that time."""


class Doubt(Value):
    """The fact whose end put another one in doubt, and when that was said."""

    subject: str
    predicate: str
    object: str
    told_at: Timestamp


class Validity(Value):
    """A fact that a memory states, and how it stands at the time that a question asks about.

    Args:
        valid_to: As in `Fact`; None also where the memory itself says that it is past.
        ending: As in `Fact`.
        conflicts_with: As in `Fact`.
        doubt: Why it is DOUBTFUL, where that is known.
    """

    fact_id: str
    subject: str
    predicate: str
    object: str
    standing: Standing
    valid_from: Timestamp | None = None
    valid_to: Timestamp | None = None
    ending: Ending | None = None
    conflicts_with: tuple[str, ...] = ()
    doubt: Doubt | None = None


class Category(Value):
    """A category of facts with its summary; its name is unique for the user.

    `digest` says what the summary was made of and by whom (`memory.tiers.summaries`): where that has changed, it holds
    no longer.
    """

    category_id: str
    user_id: UserId
    name: str
    summary: str = ""
    digest: str = ""
    updated_at: Timestamp


class CategoryAccess(Value):
    """One use of a category, from which its priority is computed (002 §4.3)."""

    access_id: str
    user_id: UserId
    category: str
    accessed_at: Timestamp
    source: str


class GraphEdge(Value):
    """An edge of the graph of facts, from subject to object (002 §3.2). Names are its vertices, compared by
    `memory.values.text.normalise`; subject, predicate and object together are unique for the user.
    """

    edge_id: str
    user_id: UserId
    subject: str
    predicate: str
    object: str
    weight: float = Field(default=1.0, ge=0)
    created_at: Timestamp
