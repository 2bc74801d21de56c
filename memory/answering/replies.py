"""What is said to a message that no memory answers: one short, honest sentence for what the message is for."""

from enum import Enum, auto

from ..language.phrases import Phrases, phrases_for
from ..language.questions import is_question
from ..values.understanding.dialogue import Role
from ..values.understanding.readings import Intent
from .answers import AnswerRequest
from .topics import Topic

_MAX_CONTENT = 200
"""Characters of a message that a confirmation repeats."""


class Kind(Enum):
    """What a message asks of the answerer; of several, the first."""

    FORGET = auto()
    REMEMBER = auto()
    QUESTION = auto()
    CORRECTION = auto()
    REQUEST = auto()
    OTHER = auto()


_SENTENCES: tuple[tuple[Intent, str], ...] = (
    (Intent.CORRECTION, "correction"),
    (Intent.STATEMENT, "noted"),
    (Intent.DENY, "denied"),
    (Intent.CONFIRM, "confirmed"),
    (Intent.THANKS, "thanks"),
    (Intent.GREETING, "greeting"),
    (Intent.CHITCHAT, "chitchat"),
)
"""The field of `Phrases` for each intent that asks for nothing; of several, the first."""
_UNANSWERED = {Topic.OWN: "nothing_found", Topic.OPINION: "opinion", Topic.GENERAL: "general"}
"""The field of `Phrases` for a question that no memory answers."""
_TOLD = frozenset({Intent.STATEMENT, Intent.CHITCHAT})
"""Intents that a question may be taken for: where its form says that it asks, it asks."""


def kind_of(request: AnswerRequest) -> Kind:
    """What the message asks for; by its form where nobody has read its intents."""
    intents = request.extraction.intents
    if Intent.FORGET in intents:
        return Kind.FORGET
    if request.extraction.overview:
        return Kind.QUESTION
    if request.revised:
        return Kind.QUESTION if is_question(request.message) else Kind.CORRECTION
    if request.extraction.remember or Intent.REMEMBER in intents:
        return Kind.REMEMBER
    if Intent.QUESTION in intents or (_TOLD.issuperset(intents) and is_question(request.message)):
        return Kind.QUESTION
    return Kind.REQUEST if Intent.REQUEST in intents else Kind.OTHER


def phrases_of(request: AnswerRequest) -> Phrases:
    """The sentences in the language of the message, or of what the user wrote before it where it does not tell."""
    return phrases_for([request.message, *request.written])


def asks_memory(request: AnswerRequest) -> bool:
    """Whether memory may answer the message: it asks something, or wants something done."""
    return kind_of(request) in {Kind.QUESTION, Kind.REQUEST}


def reply_to(request: AnswerRequest, phrases: Phrases, *, topic: Topic = Topic.OWN) -> str:
    """The sentence for a message that no memory answers.

    Args:
        request: The message.
        phrases: The language.
        topic: What it is about, where it is a question.
    """
    match kind_of(request):
        case Kind.FORGET:
            return phrases.forget
        case Kind.REMEMBER:
            return _remembered(request, phrases)
        case Kind.QUESTION:
            unanswered: str = getattr(phrases, _UNANSWERED[topic])
            return unanswered
        case Kind.CORRECTION:
            return phrases.corrected.format(content=_shortened(request.resolved))
        case Kind.REQUEST:
            tells = request.extraction.facts or Intent.STATEMENT in request.extraction.intents
            return phrases.request_with_facts if tells else phrases.request
        case Kind.OTHER:
            intents = request.extraction.intents
            name = next((name for intent, name in _SENTENCES if intent in intents), "noted")
            sentence: str = getattr(phrases, name)
            return sentence


def _remembered(request: AnswerRequest, phrases: Phrases) -> str:
    contents = [intent.content for intent in request.extraction.remember if intent.content]
    if not contents:  # "remember this" points to the message before
        points_back = bool(request.extraction.remember)
        earlier = [turn.content for turn in request.turns if turn.role is Role.USER][-1:]
        contents = earlier if points_back else [request.message]
    content = phrases.separator.join(map(_shortened, contents))
    return phrases.remember.format(content=content) if content else phrases.noted


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _MAX_CONTENT else f"{text[:_MAX_CONTENT]}…"
