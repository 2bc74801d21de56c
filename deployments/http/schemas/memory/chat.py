"""Request and reply bodies of chat, resolution, memories and sessions (DESIGN §9)."""

from typing import Annotated, Literal

from pydantic import Field, StrictInt, model_validator

from memory.answering.answers import AnsweredBy
from memory.ports.services import LearnReport
from memory.values.base import WHOLE
from memory.values.entities import EntityType
from memory.values.hits import Hit, HitKind
from memory.values.records import ResourceKind
from memory.values.understanding.dialogue import Role, SessionContext, Turn
from memory.values.understanding.mentions import EntitySubtype, Mention
from memory.values.understanding.readings import Action, Intent
from memory.values.understanding.resolutions import Clarification, CoreferenceResult

from ..fields import (
    KEYS,
    Flag,
    Identifier,
    Metadata,
    MetadataValue,
    RequestModel,
    SessionName,
    Text,
    Time,
    examples,
    given,
)
from ..users import User
from .understanding import ACTION, FACTS, FORGOTTEN, INTENTS, FactReply, ForgetReply

TopK = Annotated[StrictInt, Field(ge=1, le=100), WHOLE]
DEFAULT_SESSION = "default"
Corpora = Annotated[
    Annotated[tuple[Identifier, ...], Field(max_length=16)] | None,
    Field(
        description="Corpora of the app that may answer beside memory; 404 where it has none of an id. Default: those "
        "that are set for the app (`knowledge.in_chat`)."
    ),
]
SAID_AT = Field(default=None, description="When the message was said; default: now. For conversations of before.")


class ChatBody(RequestModel):
    """A user's message."""

    model_config = examples({"user_id": "ada", "session_id": "s1", "message": "幫我記住，宏康 HCI 的機房在三樓"})

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    message: Text
    top_k: TopK = 8
    stream: Flag = False
    wait: Flag = False
    turn_id: Identifier | None = Field(default=None, description="Your own id of the message; makes retries safe.")
    created_at: Time | None = SAID_AT
    metadata: Metadata = {}
    corpus_ids: Corpora = None


class ChatReply(RequestModel):
    """The reply to a message. `answered_by` is `extractive` where the reply quotes memory and used no language model,
    `language_model` where one worded it from the `sources`.

    `confidence` is the calibrated probability that a question is answered rightly, or that rightly nothing answers it;
    null for what is no question, where its memories were not read, and where a language model found no answer in them.
    `clarification` is set where a reference is ambiguous: the reference stays unresolved, and the reply asks the
    question unless memory has an answer that does not depend on it. The user's answer then resolves the message.
    A request to forget is carried out before the reply and stored nowhere, nor is the reply: `forgotten` says what is
    gone, or what could be meant, and the next message may then choose.
    """

    reply: str
    answered_by: AnsweredBy
    confidence: float | None = None
    resolved_query: str
    action: Action = ACTION
    intents: tuple[Intent, ...] = INTENTS
    facts: tuple[FactReply, ...] = FACTS
    resolution: CoreferenceResult
    clarification: Clarification | None
    mentions: tuple[Mention, ...]
    sources: tuple[Hit, ...]
    turn_id: str
    memory_id: str
    reply_id: str
    degraded: tuple[str, ...]
    learned: LearnReport | None
    forgotten: ForgetReply | None = FORGOTTEN


class HistoryTurn(RequestModel):
    """A turn before the query."""

    role: Role = Role.USER
    content: Text
    speaker: Identifier | None = None
    created_at: Time | None = None


class ResolveBody(RequestModel):
    """A query to resolve, in the context of a stored session or of a history given here."""

    model_config = examples(
        {
            "user_id": "ada",
            "query": "它支援哪些作業系統？",
            "history": [{"role": "user", "content": "我們剛買了 AI-Box。"}],
        },
        rule={"not": given(session_id="string", history="array")},
    )

    user_id: User
    query: Text
    session_id: SessionName | None = None
    history: Annotated[tuple[HistoryTurn, ...], Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _one_context(self) -> "ResolveBody":
        if self.session_id is not None and self.history is not None:
            raise ValueError("give session_id or history, not both")
        return self


class MessageIn(RequestModel):
    """A recorded turn."""

    role: Role = Role.USER
    content: Text
    speaker: Identifier | None = None
    created_at: Time | None = None
    turn_id: Identifier | None = None
    metadata: Metadata = {}


class AddBody(RequestModel):
    """What to store: recorded turns (`messages`) or one `text`."""

    model_config = examples(
        {"user_id": "ada", "text": "The spare key is in the blue drawer.", "metadata": {"room": "kitchen"}},
        rule={"oneOf": [given(messages="array"), given(text="string")]},
    )

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    messages: Annotated[tuple[MessageIn, ...], Field(min_length=1, max_length=256)] | None = None
    text: Text | None = None
    turn_id: Identifier | None = None
    created_at: Time | None = None
    metadata: Metadata = {}
    wait: Flag = Field(default=True, description="Reply only when search finds the memories.")

    @model_validator(mode="after")
    def _one_content(self) -> "AddBody":
        if (self.messages is None) == (self.text is None):
            raise ValueError("give messages or text: one of the two")
        return self

    def parts(self) -> list[tuple[MessageIn, ResourceKind]]:
        """The messages to store with their kinds, or the text as one note; each gets the metadata of the body too."""
        if self.messages is not None:
            return [
                (message.model_copy(update={"metadata": {**self.metadata, **message.metadata}}), ResourceKind.TURN)
                for message in self.messages
            ]
        note = MessageIn(
            content=self.text or "", created_at=self.created_at, turn_id=self.turn_id, metadata=self.metadata
        )
        return [(note, ResourceKind.NOTE)]


class AddedMemory(RequestModel):
    """An added memory."""

    id: str
    resource_id: str
    memory: str
    event: str = "ADD"


class AddReply(RequestModel):
    """The ids of the added memories, in order, and what was learned, if the call waited for it."""

    results: tuple[AddedMemory, ...]
    learned: LearnReport | None


class FilterIn(RequestModel):
    """Conditions that must all hold; a list of values matches any of them."""

    session_id: Identifier | None = None
    role: Role | None = None
    created_from: Time | None = None
    created_to: Time | None = None
    metadata: Annotated[
        dict[Identifier, MetadataValue | Annotated[list[MetadataValue], Field(max_length=64)]],
        Field(max_length=16),
        KEYS,
    ] = {}


class SearchBody(RequestModel):
    """A search in one user's memory."""

    model_config = examples({"user_id": "ada", "query": "Where is the spare key?", "top_k": 3})

    user_id: User
    query: Text
    top_k: TopK = 10
    kinds: Annotated[tuple[Literal[HitKind.ENTITY, HitKind.MEMORY], ...], Field(min_length=1)] = (
        HitKind.ENTITY,
        HitKind.MEMORY,
    )
    entity_type: EntityType | EntitySubtype | None = Field(
        default=None, description="Only entities of this type: `entity_noun` (every one) or a finer one."
    )
    filters: FilterIn = FilterIn()


class SearchReply(RequestModel):
    """Hits, best first, with the parts of their scores; `degraded` names the search legs that were unavailable.

    `unanswered` is the calibrated probability that no memory answers; null where the query was not read as a question.
    """

    results: tuple[Hit, ...]
    unanswered: float | None = None
    degraded: tuple[str, ...]


class SessionReply(RequestModel):
    """A session: its context, kept for 24 hours, and its turns, oldest first, kept for 1 hour (000 §4.3, §5.3)."""

    context: SessionContext
    turns: tuple[Turn, ...]
