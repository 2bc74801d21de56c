"""What a question that no memory answers is about: the user's own world, the assistant, or knowledge of the world."""

from enum import Enum, auto

from ..language.keywords import KeywordAnalyzer
from ..language.messages.hearer import concerns_hearer
from ..language.questions import speaks_of_hearer, speaks_of_self
from ..values.hits import HitKind
from ..values.understanding.mentions import KNOWN_NAME
from .answers import AnswerRequest


class Topic(Enum):
    """What a question is about; `OWN` where that is not sure."""

    OWN = auto()
    ASSISTANT = auto()
    GENERAL = auto()


def topic_of(request: AnswerRequest, *, analyzer: KeywordAnalyzer) -> Topic:
    """What a question that no memory answers is about.

    It is about the user's own world where it names anything of that: the user, a known name, something that was
    referred to, or a word of what was found.
    """
    question = request.resolved
    if request.revised or request.clarification is not None or question != request.message or _names_known(request):
        return Topic.OWN
    if concerns_hearer(question):
        return Topic.ASSISTANT
    if request.unanswered is None or speaks_of_self(question) or speaks_of_hearer(question):
        return Topic.OWN
    terms = analyzer.content_terms(question)
    return Topic.OWN if any(terms & analyzer.content_terms(hit.meant) for hit in request.hits) else Topic.GENERAL


def _names_known(request: AnswerRequest) -> bool:
    known = any(mention.source == KNOWN_NAME for mention in request.extraction.mentions)
    return known or any(hit.kind is HitKind.ENTITY and "exact" in hit.parts for hit in request.hits)
