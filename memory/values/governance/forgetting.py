"""A request to forget, made in chat, and what becomes of it (DESIGN §9)."""

from enum import StrEnum

from ..base import Timestamp, Value
from ..records import Resource
from ..understanding.extractions import Extraction


class ForgetOutcome(StrEnum):
    """What became of a request to forget."""

    REMOVED = "removed"
    """What was meant is gone."""
    WHICH = "which"
    """Several things could be meant: the user is asked, and nothing is removed."""
    NOT_FOUND = "not_found"
    """Memory has nothing of the kind."""
    NOT_KEPT = "not_kept"
    """The message itself says what is not to be kept, and is not kept."""
    KEPT = "kept"
    """The user was asked which, and wants to keep them all."""
    EVERYTHING = "everything"
    """The whole memory was meant, which no message erases."""
    ALREADY = "already"
    """The same request was carried out before."""


class Forgettable(Value):
    """Something that may be forgotten, as it can be named without its value.

    Args:
        ids: Of the facts, memories or entities that it consists of.
        subject: Of facts; None for the speaker.
        predicate: Of facts.
        name: Of an entity that is forgotten with everything about it.
        said_at: When it was said, for what is no fact.
        quote: How that begins, without numbers; only where the user is asked which is meant.
    """

    ids: tuple[str, ...]
    subject: str | None = None
    predicate: str | None = None
    name: str | None = None
    said_at: Timestamp | None = None
    quote: str | None = None


class ForgetRequest(Value):
    """A message that may ask to forget something, and is stored nowhere.

    Args:
        message: As it would stand in the log.
        extraction: Of the message.
        options: `SessionContext.to_forget`: what the last reply asked about.
        is_preview: Whether to say only what would be forgotten.
    """

    message: Resource
    extraction: Extraction
    options: tuple[tuple[str, ...], ...] = ()
    is_preview: bool = False


class ForgetReport(Value):
    """What became of a request to forget.

    Args:
        things: What is gone, or of what the user has to choose.
        facts: How many facts.
        memories: How many memories of what was said.
        entities: How many entities.
        turns: Ids of the turns that sessions must forget, by session.
        kept: What stays of messages of which only a part is gone, word for word.
    """

    outcome: ForgetOutcome
    things: tuple[Forgettable, ...] = ()
    facts: int = 0
    memories: int = 0
    entities: int = 0
    turns: dict[str, tuple[str, ...]] = {}
    kept: tuple[str, ...] = ()
