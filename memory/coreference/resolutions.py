"""What the resolver returns (000 §4.4)."""

from enum import StrEnum

from ..dialogue import Turn
from ..entities import Entity
from ..values import Timestamp, UserId, Value


class ReferenceSource(StrEnum):
    """Where an antecedent was found (000 §4.4)."""

    SESSION = "session"
    LONG_TERM = "long_term"
    INFERENCE = "inference"


class Alternative(Value):
    """An antecedent that was considered, with its score in 0–1."""

    text: str
    entity_id: str | None = None
    source: ReferenceSource
    score: float


class CoreferenceResolution(Value):
    """One reference and its antecedent.

    `start` and `end` are code-point offsets of the reference in the original query, half open. `reason` says in
    one line why this antecedent won; `alternatives` are the others, best first.
    """

    original_text: str
    resolved_text: str
    entity_id: str | None = None
    source: ReferenceSource
    confidence: float
    start: int
    end: int
    reason: str = ""
    alternatives: tuple[Alternative, ...] = ()


class CoreferenceResult(Value):
    """The query with its references resolved; unchanged where nothing refers or nothing is sure enough.

    `confidence` is that of the least certain resolution, 1.0 where there was nothing to resolve. References that
    stayed below the floor are in `unresolved`, with their alternatives, and are left in the query as they were.
    `degraded` names the parts without which it was made (DESIGN §7).
    """

    original_query: str
    resolved_query: str
    resolutions: tuple[CoreferenceResolution, ...] = ()
    unresolved: tuple[CoreferenceResolution, ...] = ()
    confidence: float = 1.0
    entities_found: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


class ResolutionRequest(Value):
    """All that a resolver may look at: the query, the session's last turns (oldest first), and what long-term
    memory offers (entities of this user, latest mentioned first).
    """

    query: str
    user_id: UserId
    turns: tuple[Turn, ...] = ()
    long_term: tuple[Entity, ...] = ()
    last_referred_entity: str | None = None
    now: Timestamp
