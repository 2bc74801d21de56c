"""What the trained reader reads and what it finds: a message in its conversation, understood in one pass (DESIGN §5).

Offsets are code points, half open, into the text that is named. Turns are counted from the start of
`Context.turns`.
"""

from enum import StrEnum
from typing import Final

from ..base import Value
from .mentions import TaggedSpan

NAMES_TURN = -1
"""The number that stands for the names of long-term memory among the turns."""


class Intent(StrEnum):
    """What a message is for; a message may have several."""

    STATEMENT = "statement"
    QUESTION = "question"
    REQUEST = "request"
    REMEMBER = "remember"
    FORGET = "forget"
    CORRECTION = "correction"
    CONFIRM = "confirm"
    DENY = "deny"
    GREETING = "greeting"
    THANKS = "thanks"
    CHITCHAT = "chitchat"


class MessageKind(StrEnum):
    """What a message is for, seen from what memory has to do with it: exactly one.

    Attributes:
        GREETING: Opens a talk.
        FAREWELL: Closes it.
        THANKS: Thanks or praises the assistant.
        ACKNOWLEDGEMENT: Takes note or reacts.
        STATE: Asks how the assistant is.
        ASSISTANT: Asks who or what it is, and what it can do.
        OPINION: Asks what it thinks, likes or advises.
        GENERAL: Asks for knowledge of the world.
        PRESENT: Asks for the date or the time, of now or of a day near it.
        REQUEST: Wants something done that memory cannot do.
        MEMORY: Everything else: tells something of the user's life, or asks for what was told.
    """

    GREETING = "greeting"
    FAREWELL = "farewell"
    THANKS = "thanks"
    ACKNOWLEDGEMENT = "acknowledgement"
    STATE = "state"
    ASSISTANT = "assistant"
    OPINION = "opinion"
    GENERAL = "general"
    PRESENT = "present"
    REQUEST = "request"
    MEMORY = "memory"


class Action(StrEnum):
    """What becomes of a message that may lean on its conversation."""

    KEEP = "keep"
    REWRITE = "rewrite"
    ASK = "ask"


class Qualifier(StrEnum):
    """How a fact holds."""

    NEGATED = "negated"
    ENDED = "ended"
    PAST = "past"
    PLANNED = "planned"
    HEDGED = "hedged"
    RECURRING = "recurring"


OVER: Final = (Qualifier.PAST, Qualifier.ENDED)
"""Qualifiers of a fact that holds no longer."""


class Context(Value):
    """What a message is read in.

    `turns` is the conversation before it, oldest first; `names` is what long-term memory offers, most likely first.
    """

    turns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class ReadRequest(Value):
    """A message in its context."""

    text: str
    context: Context = Context()


class ContextSpan(Value):
    """A span of the conversation, of the names or of the message itself.

    `turn` is the number of the turn; None for a span of the names, whose offsets are then into the names as they were
    joined. `probability` is that of this text among all that could stand there, 0 to 1.
    """

    text: str
    turn: int | None
    start: int
    end: int
    probability: float


class Replacement(Value):
    """One edit: `text[start:end]` gives way to `written`; an empty span is a place where something was left out.

    `antecedents` are the spans that `written` is made of, in order; what is not copied are function words. `confidence`
    is the calibrated probability of this edit, given that the message is edited, 0 to 1. `alternatives` are other spans
    that could have come first, most probable first.
    """

    start: int
    end: int
    written: str
    antecedents: tuple[ContextSpan, ...] = ()
    confidence: float
    alternatives: tuple[ContextSpan, ...] = ()


class Rewrite(Value):
    """What the message means in its conversation.

    Attributes:
        action: Keep it, rewrite it, or ask back.
        text: The message that stands alone; the message itself unless it is rewritten.
        replacements: In order, not touching; with `Action.ASK` the one that is asked about, with its options as
            `antecedents[:1]` and `alternatives`; empty with `Action.KEEP`.
        confidence: Calibrated probability that the action and `text` are right, 0 to 1.
    """

    action: Action = Action.KEEP
    text: str
    replacements: tuple[Replacement, ...] = ()
    confidence: float = 1.0


class FactSpan(Value):
    """The words of a subject, an object or a time.

    They are in the message where `turn` is None, else in that turn, or in the joined names where it is `NAMES_TURN`.
    """

    text: str
    start: int
    end: int
    turn: int | None = None


class StatedFact(Value):
    """A fact that a message states.

    Attributes:
        subject: None for the speaker.
        predicate: Of `memory.values.predicates`, or `other`.
        object: What is said of the subject.
        qualifiers: How it holds.
        time: As it was said.
        confidence: 0 to 1.
    """

    subject: FactSpan | None = None
    predicate: str
    object: FactSpan
    qualifiers: tuple[Qualifier, ...] = ()
    time: FactSpan | None = None
    confidence: float = 1.0


class Reading(Value):
    """All that the reader finds in one message.

    Attributes:
        names: In text order; they do not overlap.
        intents: The probabilities of the intents that hold, most probable first; never empty for a text that is not
            white space.
        kind: What it is for as a whole.
        overview: Whether it asks for all that is known of someone or something.
        forgets_surely: Whether it asks to forget so surely that it need not be asked whether it does.
        may_change: Whether something said before may hold no longer after it.
        rewrite: What it means in its conversation.
        facts: Those that it states.
    """

    names: tuple[TaggedSpan, ...] = ()
    intents: tuple[tuple[Intent, float], ...] = ()
    kind: MessageKind = MessageKind.MEMORY
    overview: bool = False
    forgets_surely: bool = False
    may_change: bool = False
    rewrite: Rewrite
    facts: tuple[StatedFact, ...] = ()
