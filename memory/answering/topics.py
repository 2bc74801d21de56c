"""What a question that no memory answers is about: the user's own world, an opinion, or knowledge of the world."""

from enum import Enum, auto

from ..language.keywords import KeywordAnalyzer
from ..language.questions import asks_opinion, speaks_of_hearer, speaks_of_self
from ..values.evidence import EvidenceBounds
from ..values.hits import HitKind
from .answers import AnswerRequest


class Topic(Enum):
    """What a question is about; `OWN` where that is not sure."""

    OWN = auto()
    OPINION = auto()
    GENERAL = auto()


def topic_of(request: AnswerRequest, *, analyzer: KeywordAnalyzer, bounds: EvidenceBounds) -> Topic:
    """What a question that no memory answers is about.

    It is of general knowledge where surely nothing answers and it names nothing of the user's: no person of the
    conversation, no known name, nothing that was referred to, and no word of what was found.
    """
    if asks_opinion(request.message):
        return Topic.OPINION
    if request.unanswered is None or request.unanswered < bounds.general_from:
        return Topic.OWN
    question = request.resolved
    refers_back = request.revised or request.clarification is not None or question != request.message
    if refers_back or speaks_of_self(question) or speaks_of_hearer(question) or _names_known(request):
        return Topic.OWN
    terms = analyzer.content_terms(question)
    return Topic.OWN if any(terms & analyzer.content_terms(hit.meant) for hit in request.hits) else Topic.GENERAL


def _names_known(request: AnswerRequest) -> bool:
    known = any(mention.entity_id is not None for mention in request.extraction.mentions)
    return known or any(hit.kind is HitKind.ENTITY and "exact" in hit.parts for hit in request.hits)
