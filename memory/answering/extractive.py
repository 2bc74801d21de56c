"""The extractive answerer: quotes memories with their speaker and date, and generates nothing."""

from collections.abc import Sequence

from typing_extensions import override

from ..language.keywords import KeywordAnalyzer
from ..language.phrases import Phrases
from ..values.evidence import EVIDENCE_BOUNDS, EvidenceBounds
from ..values.hits import CosineBounds
from ..values.text import normalise
from ..values.understanding.resolutions import Clarification
from .answers import Answer, AnsweredBy, Answerer, AnswerRequest
from .evidence import choose_evidence
from .nearness import Nearness
from .quoting import Quoted, answer_in_short, name_earlier, quotations, shortened, write_quotations
from .replies import Kind, kind_of, phrases_of, reply_to
from .topics import topic_of


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
        if kind is Kind.QUESTION:
            return self._answer_question(request, phrases)
        quoted = self._quote(request, phrases) if kind is Kind.REQUEST else None
        if quoted:
            return quoted.model_copy(update={"text": f"{phrases.request_with_memories}\n{quoted.text}"})
        return Answer(text=reply_to(request, phrases), answered_by=AnsweredBy.EXTRACTIVE)

    def _answer_question(self, request: AnswerRequest, phrases: Phrases) -> Answer:
        quoted = self._quote(request, phrases)
        ambiguous = request.clarification
        if ambiguous and all(_names_option(hit.meant, ambiguous) for hit in (quoted.sources if quoted else ())):
            return Answer(text=ambiguous.question, answered_by=AnsweredBy.EXTRACTIVE)
        return quoted or self._abstain(request, phrases)

    def _abstain(self, request: AnswerRequest, phrases: Phrases) -> Answer:
        """An honest "I don't know that", which is surer the surer it is that nothing answers."""
        unanswered = request.unanswered
        is_sure = unanswered is not None and unanswered >= self._bounds.abstain_from
        topic = topic_of(request, analyzer=self._analyzer, bounds=self._bounds)
        return Answer(
            text=reply_to(request, phrases, topic=topic),
            answered_by=AnsweredBy.EXTRACTIVE,
            confidence=unanswered if is_sure else None,
        )

    def _quote(self, request: AnswerRequest, phrases: Phrases) -> Answer | None:
        """The best quotations; None where no memory is evidence."""
        if request.unanswered is None:
            return self._quote_near(request, phrases)
        evidence = choose_evidence(request.hits, request.unanswered, self._bounds)
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

    def _quote_near(self, request: AnswerRequest, phrases: Phrases) -> Answer | None:
        terms = self._analyzer.content_terms(request.resolved)
        quoted = [
            Quoted(hit, shortened(text, lambda part: len(terms & self._analyzer.content_terms(part))))
            for hit, text in self._nearness.choose(request.resolved, request.hits)
        ]
        return _answer(write_quotations(quoted, phrases), quoted) if quoted else None


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
