"""Search requests and results."""

from enum import StrEnum

from pydantic import Field

from .base import Scalar, SessionId, Timestamp, UserId, Value
from .dialogue import Role

MAX_TOP_K = 100


class HitKind(StrEnum):
    """The kind of a hit."""

    ENTITY = "entity"
    MEMORY = "memory"


class SearchFilter(Value):
    """Conditions on the memories in the result; all given conditions must hold.

    `metadata` compares for equality (a list means: any of these). Entities carry none of these fields, so a search
    with a filter returns memories only.
    """

    session_id: SessionId | None = None
    role: Role | None = None
    created_from: Timestamp | None = None
    created_to: Timestamp | None = None
    metadata: dict[str, Scalar | list[Scalar]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the filter lets everything through."""
        return self == SearchFilter()


class SearchRequest(Value):
    """A search in one user's memory."""

    query: str
    user_id: UserId
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K)
    kinds: tuple[HitKind, ...] = (HitKind.ENTITY, HitKind.MEMORY)
    filters: SearchFilter = SearchFilter()
    now: Timestamp


class Hit(Value):
    """An entity or memory that a search found, with its score.

    `score` is the fused score in 0–1 (000 §6.3) with the boosts of the conversation (DESIGN §6). `parts` holds the
    parts of the score: `vector`, `keyword`, `exact`, `freshness` (each 0–1, as they entered the formula),
    `beside`, `speaker`, `linked` and `alike` where they counted, and the raw `cosine` and `bm25` of those legs.
    `resolved` is the text of a memory with its references resolved, where that differs (`Memory.resolved`).
    """

    kind: HitKind
    id: str
    text: str
    resolved: str | None = None
    score: float
    parts: dict[str, float]
    role: Role | None = None
    speaker: str | None = None
    session_id: str | None = None
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp


class SearchResult(Value):
    """Hits, best first. `degraded` names the legs that could not answer; the others still did (DESIGN §7)."""

    hits: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()
