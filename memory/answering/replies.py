"""What is said to a message that no memory answers: one short, honest sentence for what the message is for."""

from enum import Enum, auto

from ..language.messages.present import asked_present
from ..language.phrases import Phrases, phrases_for
from ..language.questions import is_question, speaks_of_hearer, speaks_of_self
from ..values.understanding.dialogue import Role
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import KNOWN_NAME
from ..values.understanding.readings import Intent, MessageKind
from .answers import AnswerRequest
from .dates import write_present

_MAX_CONTENT = 200
"""Characters of a message that a confirmation repeats."""


class Kind(Enum):
    """What a message asks of the answerer; of several, the first."""

    FORGET = auto()
    SMALL_TALK = auto()
    ASSISTANT = auto()
    PRESENT = auto()
    REMEMBER = auto()
    OPINION = auto()
    GENERAL = auto()
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
_SMALL_TALK = {
    MessageKind.GREETING: "greeting",
    MessageKind.FAREWELL: "farewell",
    MessageKind.THANKS: "thanks",
    MessageKind.ACKNOWLEDGEMENT: "acknowledged",
    MessageKind.STATE: "how_i_am",
}
"""The field of `Phrases` for each kind of message that nothing need be known for."""
_OF_KINDS = dict.fromkeys(_SMALL_TALK, Kind.SMALL_TALK) | {
    MessageKind.ASSISTANT: Kind.ASSISTANT,
    MessageKind.PRESENT: Kind.PRESENT,
}
_ABOUT_OTHERS = frozenset({MessageKind.STATE, MessageKind.ASSISTANT, MessageKind.PRESENT})
"""Kinds of questions that are not about the user alone."""
_ASKING = {
    MessageKind.OPINION: Kind.OPINION,
    MessageKind.GENERAL: Kind.GENERAL,
    MessageKind.REQUEST: Kind.REQUEST,
}
_MEMORY_MAY_ANSWER = frozenset({Kind.QUESTION, Kind.OPINION, Kind.GENERAL, Kind.REQUEST})
_OF_NO_MEMORY = frozenset({Kind.SMALL_TALK, Kind.ASSISTANT, Kind.PRESENT})
_MAX_FACTS = 3
"""Sentences about the assistant that a reply has."""
_TOLD = frozenset({Intent.STATEMENT, Intent.CHITCHAT})
"""Intents that a question may be taken for: where its form says that it asks, it asks."""


def kind_of(request: AnswerRequest) -> Kind:
    """What the message asks for; by its form where nobody has read it."""
    extraction, intents = request.extraction, request.extraction.intents
    if Intent.FORGET in intents:
        return Kind.FORGET
    if request.revised:
        return Kind.QUESTION if is_question(request.message) else Kind.CORRECTION
    if (kind := _of_no_memory(request)) is not None:
        return kind
    if extraction.remember or Intent.REMEMBER in intents:
        return Kind.REMEMBER
    is_own = _asks_for_overview(request) or (extraction.kind is MessageKind.GENERAL and _names_known(extraction))
    if extraction.kind in _ASKING and not is_own:
        return _ASKING[extraction.kind]
    asks_for_told = Intent.REQUEST in intents and not _TOLD.intersection(intents) and not extraction.facts
    if asks_for_told or Intent.QUESTION in intents or (_TOLD.issuperset(intents) and is_question(request.message)):
        return Kind.QUESTION
    return Kind.OTHER


def _names_known(extraction: Extraction) -> bool:
    return any(mention.source == KNOWN_NAME for mention in extraction.mentions)


def _of_no_memory(request: AnswerRequest) -> Kind | None:
    """The kind of a message that memory has no part in, as it was read by itself; None for any other."""
    message, extraction = request.message, request.extraction
    is_about_user = speaks_of_self(message) and not speaks_of_hearer(message)
    if extraction.kind is None or extraction.remember or _asks_for_overview(request):
        return None
    return None if is_about_user and extraction.kind in _ABOUT_OTHERS else _OF_KINDS.get(extraction.kind)


def _asks_for_overview(request: AnswerRequest) -> bool:
    """Whether all that is known is asked for of the user or of what is named; 「你是誰」 names neither."""
    extraction = request.extraction
    return extraction.overview and (bool(extraction.mentions) or speaks_of_self(request.message))


def phrases_of(request: AnswerRequest) -> Phrases:
    """The sentences in the language of the message, or of what the user wrote before it where it does not tell."""
    return phrases_for([request.message, *request.written])


def asks_memory(request: AnswerRequest) -> bool:
    """Whether memory may answer the message: it asks something, or wants something done."""
    return kind_of(request) in _MEMORY_MAY_ANSWER


def leaves_memory_out(request: AnswerRequest) -> bool:
    """Whether nothing of memory belongs into the reply: a greeting, a question about the assistant or for the date."""
    return kind_of(request) in _OF_NO_MEMORY


def may_introduce(request: AnswerRequest) -> bool:
    """Whether the reply may say who the assistant is."""
    return kind_of(request) is Kind.ASSISTANT


def reply_to(request: AnswerRequest, phrases: Phrases) -> str:
    """The sentence for a message that no memory answers.

    Args:
        request: The message.
        phrases: The language.
    """
    kind, extraction = kind_of(request), request.extraction
    match kind:
        case Kind.FORGET:
            return phrases.forget
        case Kind.SMALL_TALK if extraction.kind is not None:
            return _named(phrases, _SMALL_TALK[extraction.kind])
        case Kind.ASSISTANT:
            return _introduced(request, phrases)
        case Kind.PRESENT:
            return write_present(asked_present(request.message, request.now), request.now, phrases)
        case Kind.REMEMBER:
            return _remembered(request, phrases)
        case Kind.OPINION:
            return phrases.opinion
        case Kind.GENERAL:
            return phrases.general
        case Kind.QUESTION:
            return phrases.nothing_found
        case Kind.CORRECTION:
            return phrases.corrected.format(content=_shortened(request.resolved))
        case Kind.REQUEST:
            tells = extraction.facts or Intent.STATEMENT in extraction.intents
            return phrases.request_with_facts if tells else phrases.request
        case _:
            return _named(phrases, _of_intents(extraction))


def _of_intents(extraction: Extraction) -> str:
    """The field of `Phrases` for what asks for nothing; what was read and has no intent is not said to be kept."""
    tells = bool(extraction.facts) or not extraction.was_read
    return next((name for intent, name in _SENTENCES if intent in extraction.intents), "noted" if tells else "chitchat")


def _named(phrases: Phrases, name: str) -> str:
    sentence: str = getattr(phrases, name)
    return sentence


def _introduced(request: AnswerRequest, phrases: Phrases) -> str:
    """Who the assistant is: what Jiyi is, by the name of the persona where it has one, and what is given about it."""
    assistant = request.assistant
    is_memory = phrases.who_i_am.format(name=assistant.name or phrases.my_name)
    return "\n".join((is_memory, *assistant.facts[:_MAX_FACTS]))


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
