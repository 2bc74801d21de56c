"""The extractive answerer: quotes memories with their speaker and date, and generates nothing."""

import re
from collections.abc import Sequence

from typing_extensions import override

from ..extraction.junk import Junk, junk_kind
from ..language.keywords import KeywordAnalyzer
from ..language.phrases import Phrases, phrases_for
from ..language.questions import is_question
from ..values.dialogue import Role
from ..values.facts import Validity
from ..values.hits import Hit, HitKind
from ..values.resolutions import Clarification
from ..values.text import normalise
from .answers import Answer, AnsweredBy, Answerer, AnswerRequest, CosineBounds
from .corrections import corrected_text, drop_corrected
from .replies import Kind, kind_of, reply_to
from .validity import are_in_conflict, qualified, stated_in, valid_part, without_doubtful

_SENTENCE = re.compile(r"[^。！？!?\n]*[。！？!?\n]?")
_MAX_QUOTES = 3
_MAX_VALUES = 8
"""So many memories are quoted where they state the values of one subject and predicate."""
_MAX_QUOTE_CHARACTERS = 200
_NO_ANSWER = frozenset({Junk.EMPTY, Junk.PRONOUN, Junk.GREETING})
"""Kinds of texts that can be a whole turn but answer no question: 前者, "yes"."""


class ExtractiveAnswerer(Answerer):
    """Answers a question with the best quotations, and any other message with the sentence for its intent.

    What a memory states that is out of date is not quoted; what is in doubt, or held before, is quoted as such.

    A question with an ambiguous reference is answered by its clarification, unless the evidence names none of the
    candidates: to quote a memory about one of them would be a guess.

    Args:
        analyzer: Splits texts into terms.
        min_cosine: The cosines from which a memory counts as evidence, for the model that found it.
        min_overlap: The share of the question's content terms from which it counts whatever its cosine.
        min_share: The share of the best score from which a further memory is quoted as well.
    """

    def __init__(
        self, *, analyzer: KeywordAnalyzer, min_cosine: CosineBounds, min_overlap: float = 0.25, min_share: float = 0.8
    ) -> None:
        self._analyzer = analyzer
        self._min_cosine = min_cosine
        self._min_overlap = min_overlap
        self._min_share = min_share

    @override
    async def answer(self, request: AnswerRequest) -> Answer:
        earlier = [turn.content for turn in reversed(request.turns) if turn.role is Role.USER]
        phrases = phrases_for([request.message, *earlier])
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
        if ambiguous and all(_names_option(hit.text, ambiguous) for hit in (quoted.sources if quoted else ())):
            return Answer(text=ambiguous.question, answered_by=AnsweredBy.EXTRACTIVE)
        return quoted or Answer(text=reply_to(request, phrases), answered_by=AnsweredBy.EXTRACTIVE)

    def _quote(self, request: AnswerRequest, phrases: Phrases) -> Answer | None:
        """The best quotations; None where no memory is evidence."""
        terms = self._analyzer.content_terms(request.resolved)
        memories = [hit for hit in drop_corrected(request.hits) if hit.kind is HitKind.MEMORY]
        statements = [(hit, self._statement(hit, request.resolved, terms)) for hit in memories]
        relevant = [(hit, text) for hit, text in statements if text]
        if not relevant:
            return None
        best = max(hit.score for hit, _ in relevant)
        near = [(hit, text) for hit, text in relevant if hit.score >= self._min_share * best]
        quoted = _of_one_matter(near) or near[:_MAX_QUOTES]
        lines: list[str] = []
        facts: list[Validity] = []
        for hit, text in quoted:
            quote = self._best_sentences(text, terms)
            stated = stated_in(quote, hit.validity)
            lines.append(qualified(_attribute(hit, quote, phrases), stated, phrases))
            facts += stated
        heading = [phrases.conflicting] if are_in_conflict(facts) else []
        return Answer(
            text="\n".join(dict.fromkeys([*heading, *lines])),
            answered_by=AnsweredBy.EXTRACTIVE,
            sources=tuple(hit for hit, _ in quoted),
            fact_ids=tuple(dict.fromkeys(fact.fact_id for fact in facts)),
        )

    def _statement(self, hit: Hit, question: str, terms: set[str]) -> str | None:
        """What a memory states that is about the question and not out of date; None where that is nothing."""
        text = corrected_text(hit)
        if text is None or is_question(text) or junk_kind(text) in _NO_ANSWER:
            return None
        valid = valid_part(text, hit.validity)
        matched = hit.instead_of or text
        near = self._min_cosine.are_met(hit.parts.get("cosine", 0.0), question, matched)
        shared = self._shared(terms, valid)
        if hit.instead_of:
            shared = max(shared, self._shared(terms, hit.instead_of))
        elif valid != text:  # the cosine is that of the whole memory
            near = near and shared > 0
        if not valid or not (near or shared >= max(1, self._min_overlap * len(terms))):
            return None
        return without_doubtful(valid, hit.validity, lambda clause: self._shared(terms, clause))

    def _shared(self, terms: set[str], text: str) -> int:
        return len(terms & self._analyzer.content_terms(text))

    def _best_sentences(self, text: str, terms: set[str]) -> str:
        """A short text as it is; of a long one, the sentence that shares most terms with the question."""
        if len(text) <= _MAX_QUOTE_CHARACTERS:
            return text.strip()
        sentences: list[str] = [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]
        best = max(sentences, key=lambda sentence: self._shared(terms, sentence))
        return best if len(best) <= _MAX_QUOTE_CHARACTERS else best[:_MAX_QUOTE_CHARACTERS] + "…"


def _of_one_matter(quoted: Sequence[tuple[Hit, str]]) -> list[tuple[Hit, str]]:
    """Where the best memories state several values of one subject and predicate, all of those, else none."""
    matters = [{(fact.subject, fact.predicate) for fact in stated_in(text, hit.validity)} for hit, text in quoted]
    alike = [pair for pair, matter in zip(quoted, matters, strict=True) if not matter.isdisjoint(matters[0])]
    is_needed = any(hit.instead_of for hit, _ in alike)
    return alike[:_MAX_VALUES] if is_needed and len(alike) > 1 else []


def _names_option(text: str, clarification: Clarification) -> bool:
    normalised = normalise(text)
    return any(normalise(option.text) in normalised for option in clarification.options)


def _attribute(hit: Hit, quote: str, phrases: Phrases) -> str:
    by_role = {Role.USER: phrases.user, Role.ASSISTANT: phrases.assistant}
    speaker = hit.speaker or (by_role[hit.role] if hit.role else phrases.anonymous)
    return phrases.said.format(speaker=speaker, date=hit.created_at.date().isoformat(), quote=quote)
