"""A conversation as values: turns and what is kept of a session (000 §3.1 L1 and L3, §4.3)."""

from enum import StrEnum

from ..base import SessionId, Timestamp, UserId, Value
from .mentions import Mention


class Role(StrEnum):
    """The speaker of a turn."""

    USER = "user"
    ASSISTANT = "assistant"


class Turn(Value):
    """One message of a conversation.

    `mentions` is what the extractor found in `content`; None means that nobody has looked yet. An assistant's turn that
    is known to mention nothing is a stock phrase, in which nothing can be referred to.
    """

    role: Role
    content: str
    created_at: Timestamp
    turn_id: str | None = None
    speaker: str | None = None
    mentions: tuple[Mention, ...] | None = None


HistoryEntry = dict[str, str | int | float | tuple[str, ...] | None]
"""An entry of `SessionContext.coreference_history`."""


class SessionContext(Value):
    """What a session remembers besides its turns; lives 24 h (000 §4.3, §5.3).

    `mentioned_entities` is ordered, latest last. `coreference_history` holds the latest resolutions as plain dicts
    (original_text, resolved_text, entity_id, source, confidence; and for a later correction query, start, end, before
    and after, see `CoreferenceResolution` and `Clarification`); one that the user corrected has `corrected` too, the
    name of what was meant, and one that was asked about has `options`. `deixis` holds the latest time and event words
    (L1 of 000 §3.1): they stay here and never reach long-term memory. `to_forget` holds the ids of each of the things
    of which the last message may have meant to forget one, where the reply asked which.
    """

    session_id: SessionId
    user_id: UserId
    mentioned_entities: tuple[str, ...] = ()
    last_referred_entity: str | None = None
    coreference_history: tuple[HistoryEntry, ...] = ()
    deixis: tuple[str, ...] = ()
    to_forget: tuple[tuple[str, ...], ...] = ()
    started_at: Timestamp
    last_activity: Timestamp


class Session(Value):
    """A session as a chat turn reads it: its context and its turns of the last hour, oldest first."""

    context: SessionContext
    turns: tuple[Turn, ...] = ()
