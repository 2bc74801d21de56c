"""The extractive answerer: quotes what memory holds, with who said it and when; makes nothing up."""

import re

from ..extraction.rules.junk import Junk, junk_kind
from ..language.keywords import KeywordAnalyzer
from ..language.phrases import Phrases, phrases_for
from ..language.questions import is_question
from ..values.dialogue import Role
from ..values.hits import Hit, HitKind
from ..values.resolutions import Clarification
from ..values.text import normalise
from .answers import Answer, AnsweredBy, Answerer, AnswerRequest
from .corrected import as_meant, still_said
from .cosine_bounds import CosineBounds

_SENTENCE = re.compile(r"[^。！？!?\n]*[。！？!?\n]?")
_MAX_QUOTES = 3
_MAX_QUOTE_CHARACTERS = 200
_SAYING_NOTHING = frozenset({Junk.EMPTY, Junk.PRONOUN, Junk.GREETING})
"""What may have been a whole turn and answers no question: 前者, "yes"."""


class ExtractiveAnswerer(Answerer):
    """Answers a question with the best quotations, a request to remember by confirming it, the rest in a word.

    A question with an open reference is answered by asking which thing is meant, unless memory has an answer that names
    none of those that it could be: to quote what was said of one of them would be to guess.

    Args:
        analyzer: Splits texts into terms.
        min_cosine: From which cosine on a memory counts as being about the question, for the model that found it.
        min_overlap: From which share of the question's content terms on it counts as well, whatever the cosine.
        min_share: From which share of the best score on a further memory is worth quoting too.
    """

    def __init__(
        self, *, analyzer: KeywordAnalyzer, min_cosine: CosineBounds, min_overlap: float = 0.25, min_share: float = 0.8
    ) -> None:
        self._analyzer = analyzer
        self._min_cosine = min_cosine
        self._min_overlap = min_overlap
        self._min_share = min_share

    async def answer(self, request: AnswerRequest) -> Answer:
        """See `Answerer.answer`."""
        said = [turn.content for turn in reversed(request.turns) if turn.role is Role.USER]
        phrases = phrases_for([request.message, *said])
        if request.extraction.remember:
            return self._confirm(request, phrases)
        if not is_question(request.message):
            return Answer(text=phrases.noted, answered_by=AnsweredBy.EXTRACTIVE)
        return self._quote(request, phrases)

    def _confirm(self, request: AnswerRequest, phrases: Phrases) -> Answer:
        contents = [intent.content for intent in request.extraction.remember if intent.content]
        if not contents:
            contents = [turn.content for turn in request.turns if turn.role is Role.USER][-1:]
        text = phrases.remember.format(content="；".join(contents)) if contents else phrases.noted
        return Answer(text=text, answered_by=AnsweredBy.EXTRACTIVE)

    def _quote(self, request: AnswerRequest, phrases: Phrases) -> Answer:
        terms = self._analyzer.content_terms(request.resolved)
        stated = [(hit, as_meant(hit)) for hit in still_said(request.hits) if hit.kind is HitKind.MEMORY]
        relevant = [
            (hit, text)
            for hit, text in stated
            if text is not None and self._is_evidence(hit, text, request.resolved, terms)
        ]
        if request.clarification and all(_speaks_of(hit.text, request.clarification) for hit, _ in relevant):
            return Answer(text=request.clarification.question, answered_by=AnsweredBy.EXTRACTIVE)
        if not relevant:
            return Answer(text=phrases.nothing_found, answered_by=AnsweredBy.EXTRACTIVE)
        best = max(hit.score for hit, _ in relevant)
        quoted = [(hit, text) for hit, text in relevant if hit.score >= self._min_share * best][:_MAX_QUOTES]
        lines = [_attribute(hit, self._best_sentences(text, terms), phrases) for hit, text in quoted]
        sources = tuple(hit for hit, _ in quoted)
        return Answer(text="\n".join(dict.fromkeys(lines)), answered_by=AnsweredBy.EXTRACTIVE, sources=sources)

    def _is_evidence(self, hit: Hit, stated: str, question: str, terms: set[str]) -> bool:
        """Whether a memory states something, which is what was meant by it, and has to do with the question."""
        if is_question(stated) or junk_kind(stated) in _SAYING_NOTHING:
            return False
        shared = len(terms & self._analyzer.content_terms(stated))
        near = self._min_cosine.are_met(hit.parts.get("cosine", 0.0), question, stated)
        return near or shared >= max(1, self._min_overlap * len(terms))

    def _best_sentences(self, text: str, terms: set[str]) -> str:
        """All of a short text; of a long one, the sentence that shares most terms with the question."""
        if len(text) <= _MAX_QUOTE_CHARACTERS:
            return text.strip()
        sentences: list[str] = [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]
        best = max(sentences, key=lambda sentence: len(terms & self._analyzer.content_terms(sentence)))
        return best if len(best) <= _MAX_QUOTE_CHARACTERS else best[:_MAX_QUOTE_CHARACTERS] + "…"


def _speaks_of(text: str, clarification: Clarification) -> bool:
    said = normalise(text)
    return any(normalise(option.text) in said for option in clarification.options)


def _attribute(hit: Hit, quote: str, phrases: Phrases) -> str:
    said_by = {Role.USER: phrases.user, Role.ASSISTANT: phrases.assistant}
    speaker = hit.speaker or (said_by[hit.role] if hit.role else phrases.anonymous)
    return phrases.said.format(speaker=speaker, date=hit.created_at.date().isoformat(), quote=quote)
