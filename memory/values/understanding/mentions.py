"""Mentions of entities, and the names that a trained model finds."""

from enum import StrEnum

from ..base import Value

KNOWN_NAME = "known"
"""`Mention.source` of a name that was found because long-term memory holds it."""
SEED_NAME = "seed"
"""`Mention.source` of a name that every user's memory starts with (000 §10.1)."""


class MentionLevel(StrEnum):
    """The level of a mention (000 §3.1): L1 stays in the session, L2 goes to long-term memory."""

    SESSION = "L1"
    LONG_TERM = "L2"


class EntitySubtype(StrEnum):
    """The finer type of an `entity_noun` (DESIGN §4)."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    PRODUCT = "product"
    WORK = "work"
    EVENT = "event"
    CODE = "code"


class Mention(Value):
    """A span of text that names something.

    `start` and `end` are code-point offsets into the text as it was given, half open: `text[start:end]` is `text`.
    `source` says which rule or model found it, for a person who asks why. `entity_id` is set where the name is
    already known to the user's long-term memory.
    """

    text: str
    start: int
    end: int
    level: MentionLevel = MentionLevel.LONG_TERM
    subtype: EntitySubtype | None = None
    confidence: float = 1.0
    source: str = ""
    entity_id: str | None = None


class TaggedSpan(Value):
    """A name that a trained model finds; half-open code-point offsets into the text as it was given.

    `label` is the model's own, finer name of the type; `subtype` is what it comes to here, None where the label is no
    type of entity (a time). `score` is how sure the model is of span and type, 0 to 1 (not calibrated).
    """

    start: int
    end: int
    label: str
    subtype: EntitySubtype | None = None
    score: float = 1.0
