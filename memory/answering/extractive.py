"""The extractive answerer: quotes memories with their speaker and date, and generates nothing."""

from collections.abc import Sequence

from typing_extensions import override

from ..language.keywords import KeywordAnalyzer
from ..language.phrases import Phrases
from ..language.questions import speaks_of_own
from ..values.evidence import EVIDENCE_BOUNDS, EvidenceBounds
from ..values.hits import CosineBounds, Hit, HitKind
from ..values.text import normalise
from ..values.understanding.mentions import KNOWN_NAME
from ..values.understanding.resolutions import Clarification
from .answers import Answer, AnsweredBy, Answerer, AnswerRequest
from .evidence import choose_evidence
from .nearness import Nearness
from .quoting import Quoted, answer_in_short, name_earlier, quotations, shortened, write_quotations
from .replies import Kind, kind_of, phrases_of, reply_to

_HEADINGS = {Kind.OPINION: "opinion_with_memories", Kind.REQUEST: "request_with_memories"}
"""The field of `Phrases` that is said before what memory has for a message that it cannot answer."""


class ExtractiveAnswerer(Answerer):
    """Answers a question with the best quotations, and any other message with the sentence for its intent.

    Where the memories were read together with the question, that reading says which of them answer, in which words,
    and when none does; the others are chosen by their nearness. What a memory states that is out of date is not quoted
    as an answer; what is in doubt, or held before, is quoted as such.

    A question with an ambiguous reference is answered by its clarification, unless the evidence names none of the
    candidates: to quote a memory about one of them would be a guess.

    Args:
        analyzer: Splits texts into terms.
        min_cosine: The cosines from which a memory that nobody read counts as evidence, for the model that found it.
        bounds: From which probabilities of a reading on a memory is quoted, and a question not answered.
    """

    def __init__(
        self,
        *,
        analyzer: KeywordAnalyzer,
        min_cosine: CosineBounds,
        bounds: EvidenceBounds = EVIDENCE_BOUNDS,
    ) -> None:
        self._analyzer = analyzer
        self._nearness = Nearness(analyzer=analyzer, min_cosine=min_cosine)
        self._bounds = bounds

    @override
    async def answer(self, request: AnswerRequest) -> Answer:
        phrases = phrases_of(request)
        kind = kind_of(request)
        if kind in (Kind.QUESTION, Kind.GENERAL):
            return self._without_guess(request, self._quote(request, phrases)) or self._abstain(request, phrases)
        if kind not in _HEADINGS:
            return _said(reply_to(request, phrases))
        if quoted := self._quote(request, phrases, sure=True):
            text = quoted.text.removeprefix(f"{phrases.overview}\n")
            return quoted.model_copy(update={"text": f"{getattr(phrases, _HEADINGS[kind])}\n{text}"})
        return _said(reply_to(request, phrases)) if kind is Kind.REQUEST else self._abstain(request, phrases)

    def _without_guess(self, request: AnswerRequest, quoted: Answer | None) -> Answer | None:
        """The quotations, or the question to ask back where an ambiguous reference makes them a guess."""
        ambiguous = request.clarification
        if ambiguous and all(_names_option(hit.meant, ambiguous) for hit in (quoted.sources if quoted else ())):
            return _said(ambiguous.question)
        return quoted

    def _abstain(self, request: AnswerRequest, phrases: Phrases) -> Answer:
        """An honest "I don't know that", which is surer the surer it is that nothing answers."""
        unanswered = request.unanswered
        is_sure = unanswered is not None and unanswered >= self._bounds.abstain_from
        said = _said(reply_to(request, phrases))
        return said.model_copy(update={"confidence": unanswered if is_sure else None})

    def _quote(self, request: AnswerRequest, phrases: Phrases, *, sure: bool = False) -> Answer | None:
        """The best quotations; None where no memory is evidence.

        Args:
            request: The message, which may be no question of the kind that readings are made for.
            phrases: The language.
            sure: Whether to quote only what surely answers and has a word or a known name of the message.
        """
        if request.unanswered is None:
            return self._quote_near(request, phrases)
        hits, bounds = request.hits, self._bounds
        if sure:
            hits = self._concerning(request)
            bounds = bounds.model_copy(update={"answer_from": bounds.beside_from})
        evidence = choose_evidence(hits, request.unanswered, bounds)
        if evidence is None:
            return None
        quoted = quotations(evidence)
        if evidence.is_overview:
            closing = phrases.more if evidence.may_be_cut else ""
            text = write_quotations(quoted, phrases, answer=phrases.overview, closing=closing)
        else:
            text = write_quotations(
                quoted,
                phrases,
                answer=answer_in_short(evidence, request.resolved, phrases, words_from=self._bounds.words_from),
                closing=name_earlier(evidence, phrases),
            )
        answer = _answer(text, quoted)
        sources = (*answer.sources, *evidence.earlier)
        return answer.model_copy(update={"sources": sources, "confidence": evidence.confidence})

    def _concerning(self, request: AnswerRequest) -> tuple[Hit, ...]:
        """The memories with a word or a known name of the message, all where a request is about who makes it."""
        if kind_of(request) is Kind.REQUEST and speaks_of_own(request.resolved):
            return request.hits
        terms = self._analyzer.content_terms(request.resolved)
        known = [mention for mention in request.extraction.mentions if mention.source == KNOWN_NAME]
        names = [normalise(mention.text) for mention in known]

        def concerns(hit: Hit) -> bool:
            if hit.is_part_of_overview or hit.kind is HitKind.KNOWLEDGE:
                return True
            matched = f"{hit.meant} {hit.instead_of or ''}"
            shares_name = any(name in normalise(matched) for name in names)
            return shares_name or not terms.isdisjoint(self._analyzer.content_terms(matched))

        return tuple(filter(concerns, request.hits))

    def _quote_near(self, request: AnswerRequest, phrases: Phrases) -> Answer | None:
        terms = self._analyzer.content_terms(request.resolved)
        quoted = [
            Quoted(hit, shortened(text, lambda part: len(terms & self._analyzer.content_terms(part))))
            for hit, text in self._nearness.choose(request.resolved, request.hits)
        ]
        return _answer(write_quotations(quoted, phrases), quoted) if quoted else None


def _said(text: str) -> Answer:
    return Answer(text=text, answered_by=AnsweredBy.EXTRACTIVE)


def _answer(text: str, quoted: Sequence[Quoted]) -> Answer:
    return Answer(
        text=text,
        answered_by=AnsweredBy.EXTRACTIVE,
        sources=tuple(part.hit for part in quoted),
        fact_ids=tuple(dict.fromkeys(fact.fact_id for part in quoted for fact in part.stated)),
    )


def _names_option(text: str, clarification: Clarification) -> bool:
    normalised = normalise(text)
    return any(normalise(option.text) in normalised for option in clarification.options)
