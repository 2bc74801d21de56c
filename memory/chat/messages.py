"""What goes through a chat turn: the message, what was understood of it, and the events that a caller sees."""

from ..answering.answers import Answer
from ..ports.services import LearnReport
from ..values.base import Scalar, SessionId, Timestamp, UserId, Value
from ..values.dialogue import Role, Turn
from ..values.hits import SearchResult
from ..values.mentions import Extraction
from ..values.records import ResourceKind
from ..values.resolutions import CoreferenceResult


class ChatMessage(Value):
    """What a user says.

    `turn_id` is the caller's own id of the message: sending the same again appends nothing twice. `wait` asks for the
    learning to be finished before the turn ends.
    """

    user_id: UserId
    session_id: SessionId
    message: str
    top_k: int = 8
    turn_id: str | None = None
    metadata: dict[str, Scalar] = {}
    wait: bool = False
    now: Timestamp


class Understood(Value):
    """First event of a turn: what the message means, after the session's turns before it."""

    resolution: CoreferenceResult
    extraction: Extraction
    turns: tuple[Turn, ...] = ()

    @property
    def degraded(self) -> tuple[str, ...]:
        """The parts without which the message was understood."""
        return (*self.extraction.degraded, *self.resolution.degraded)


class Found(Value):
    """Second event: what memory found for it."""

    result: SearchResult


class Replied(Value):
    """Third event: the answer. It is not acknowledged yet."""

    answer: Answer


class Acknowledged(Value):
    """Last event: the turn is in the raw log and will survive whatever happens.

    `reply_id` is empty where there was no reply. `degraded` names the parts that could not do their work in this turn;
    `learned` is there where `wait` asked for it and it could be done.
    """

    turn_id: str
    memory_id: str
    reply_id: str
    degraded: tuple[str, ...] = ()
    learned: LearnReport | None = None


ChatEvent = Understood | Found | Replied | Acknowledged


class Reply(Value):
    """What is answered to a message.

    Args:
        text: The answer.
        can_be_referred_to: False for a stock phrase, in which nothing can be referred to.
        learn: Whether it becomes a memory; not where it only quotes what is known.
        metadata: Goes into its log entry.
    """

    text: str
    can_be_referred_to: bool = True
    learn: bool = True
    metadata: dict[str, Scalar] = {}


class NewMemory(Value):
    """One text to keep.

    `turn_id` is the caller's own id: adding the same again adds nothing. `understanding` is what the caller has found
    in the text already, if anything.
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
    """What an addition is called from now on."""

    id: str
    resource_id: str
    text: str
