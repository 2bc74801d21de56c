"""The messages and events of a chat turn."""

from collections.abc import Sequence
from datetime import datetime

from ..answering.answers import Answer, AnswerRequest
from ..ports.services import LearnReport
from ..values.base import Scalar, SessionId, Timestamp, UserId, Value
from ..values.entities import Entity
from ..values.governance.forgetting import ForgetReport
from ..values.hits import Hit, SearchResult
from ..values.records import ResourceKind
from ..values.understanding.dialogue import Role, Turn
from ..values.understanding.extractions import Extraction
from ..values.understanding.resolutions import CoreferenceResult


class ChatMessage(Value):
    """A user's message.

    `turn_id` is the caller's id of the message: a repeated id is stored once. `wait` finishes learning before the turn
    ends. `earlier` are the turns before it as the caller has them: they count where the session does not end with
    them. `corpus_ids` are corpora of the user's app that may answer beside memory.
    """

    user_id: UserId
    session_id: SessionId
    message: str
    top_k: int = 8
    turn_id: str | None = None
    metadata: dict[str, Scalar] = {}
    wait: bool = False
    earlier: tuple[Turn, ...] = ()
    corpus_ids: tuple[str, ...] = ()
    now: Timestamp


class Understood(Value):
    """First event of a turn: the resolution and extraction of the message, and the session's turns before it.

    `to_forget` is what the last reply asked which of it to forget (`SessionContext.to_forget`). `elsewhere` is what the
    user wrote in other sessions, latest first, where message and turns do not tell the script.
    """

    resolution: CoreferenceResult
    extraction: Extraction
    turns: tuple[Turn, ...] = ()
    to_forget: tuple[tuple[str, ...], ...] = ()
    elsewhere: tuple[str, ...] = ()

    @property
    def degraded(self) -> tuple[str, ...]:
        """The components that failed."""
        return tuple(dict.fromkeys((*self.extraction.degraded, *self.resolution.degraded)))

    def as_asked(self, message: str, *, now: datetime) -> AnswerRequest:
        """The message to answer, of which nothing is found yet; in place of one that revises another, that one."""
        resolution = self.resolution
        return AnswerRequest(
            message=resolution.resolved_query if resolution.revision else message,
            resolved=resolution.resolved_query,
            revised=resolution.revision is not None,
            clarification=resolution.clarification,
            extraction=self.extraction,
            turns=self.turns,
            written=tuple(self.written(message)[1:]),
            now=now,
        )

    def written(self, message: str) -> list[str]:
        """The message and what the user wrote before it, latest first: by these the language of a reply is chosen."""
        return [message, *written_in(self.turns), *self.elsewhere]


def written_in(turns: Sequence[Turn]) -> list[str]:
    """What the user wrote in a conversation, latest first."""
    return [turn.content for turn in reversed(turns) if turn.role is Role.USER]


class Found(Value):
    """Second event: the search result."""

    result: SearchResult


class Replied(Value):
    """Third event: the answer, not stored yet."""

    answer: Answer


class Acknowledged(Value):
    """Last event: the turn is stored in the raw log, or, where it asked to forget something, that was done.

    `reply_id` is empty without a reply. `degraded` names the components that failed in this turn. `learned` is None
    without `wait`, and where learning is postponed. `forgotten` says what became of a request to forget; neither that
    nor the reply is stored.
    """

    turn_id: str
    memory_id: str
    reply_id: str
    degraded: tuple[str, ...] = ()
    learned: LearnReport | None = None
    forgotten: ForgetReport | None = None


ChatEvent = Understood | Found | Replied | Acknowledged


class Reply(Value):
    """The reply to a message.

    Args:
        text: The reply.
        can_be_referred_to: False for a stock phrase, which has no antecedents.
        learn: Whether it becomes a memory; False for an answer that quotes memories.
        metadata: Metadata of its log entry.
    """

    text: str
    can_be_referred_to: bool = True
    learn: bool = True
    metadata: dict[str, Scalar] = {}


class NewMemory(Value):
    """A text to add.

    `turn_id` is the caller's id: a repeated id is stored once. `understanding` is the extraction of the text, if the
    caller has one.
    """

    content: str
    kind: ResourceKind = ResourceKind.TURN
    role: Role = Role.USER
    speaker: str | None = None
    turn_id: str | None = None
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp
    understanding: Extraction | None = None


class Added(Value):
    """The ids of an added text."""

    id: str
    resource_id: str
    text: str


class ChatContext(Value):
    """For a chat backend before it answers: the resolved query, and lines for its prompt (000 §8.1, §8.4).

    `memories` are those that help to answer what is asked, best first; none where nothing is asked. `knowledge` are
    such parts of documents, where corpora were searched. For a request to
    forget, `forgotten` is what would become of it, and the lines say how to reply and nothing else.
    """

    resolution: CoreferenceResult
    extraction: Extraction
    resolved_query: str
    entities: tuple[Entity, ...]
    memories: tuple[Hit, ...] = ()
    knowledge: tuple[Hit, ...] = ()
    context: str
    degraded: tuple[str, ...] = ()
    forgotten: ForgetReport | None = None
