"""The results of resolution (000 §4.4)."""

from datetime import datetime
from enum import StrEnum

from ..base import Timestamp, UserId, Value
from ..entities import Entity
from .dialogue import HistoryEntry, Session, Turn


class ReferenceSource(StrEnum):
    """The source of an antecedent (000 §4.4)."""

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

    `start` and `end` are code-point offsets of the reference in the original query, half open. `written` stands there
    in the resolved query: the antecedent with what grammar and spacing ask for ("AI-Box's"). `reason` says in one line
    where the antecedent was found; `alternatives` are the others, best first.
    """

    original_text: str
    resolved_text: str
    entity_id: str | None = None
    source: ReferenceSource
    confidence: float
    start: int
    end: int
    written: str = ""
    reason: str = ""
    alternatives: tuple[Alternative, ...] = ()


class Clarification(Value):
    """What to ask the user where a reference has several antecedents, or one that is not sure enough.

    `question` is in the user's language and script. `original_text` is the reference, `start` and `end` its code-point
    offsets in the original query. `options` are in the order in which the question names them, which is the one in
    which they were mentioned, so that "the second one" is an answer. `before` and `after` are written around the option
    that is meant ("'s").
    """

    question: str
    original_text: str
    start: int
    end: int
    options: tuple[Alternative, ...]
    before: str = ""
    after: str = ""


class Revision(Value):
    """An earlier query that a message makes clear: the user corrects what was understood, or answers what was asked.

    `query` is that earlier query; `resolution` is its reference with the antecedent that the user names, and its
    offsets are into that query. `rejected` is what the reference had been taken for, None where it had been left open.
    """

    query: str
    resolution: CoreferenceResolution
    rejected: Alternative | None = None


class CoreferenceResult(Value):
    """The query with its references resolved; unchanged where nothing refers or nothing is sure enough.

    `confidence` is that of the least certain resolution, 1.0 where there was nothing to resolve. References that
    stayed below the floor are in `unresolved`, with their alternatives, and are left in the query as they were; the
    first of them that has any is asked about in `clarification`. Where the query revises an earlier one,
    `resolved_query` is that earlier query as it was meant. `degraded` names the parts without which it was made
    (DESIGN §7).
    """

    original_query: str
    resolved_query: str
    resolutions: tuple[CoreferenceResolution, ...] = ()
    unresolved: tuple[CoreferenceResolution, ...] = ()
    confidence: float = 1.0
    entities_found: tuple[str, ...] = ()
    clarification: Clarification | None = None
    revision: Revision | None = None
    degraded: tuple[str, ...] = ()


class ResolutionRequest(Value):
    """All that a resolver may look at: the query, the session's last turns (oldest first), what long-term memory
    offers (entities of this user: those named in the query, and the latest mentioned), and what the session has
    resolved so far (`SessionContext.coreference_history`).
    """

    query: str
    user_id: UserId
    turns: tuple[Turn, ...] = ()
    long_term: tuple[Entity, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    now: Timestamp

    @classmethod
    def in_session(cls, session: Session, query: str, *, now: datetime) -> "ResolutionRequest":
        """A query in a stored session; long-term memory is added by who has it."""
        return cls(
            query=query,
            user_id=session.context.user_id,
            turns=session.turns,
            history=session.context.coreference_history,
            now=now,
        )
