"""Which memories answer a question by their cosine and shared words, while nothing reads them (000 §9.1)."""

from collections.abc import Sequence

from ..extraction.junk import junk_kind
from ..language.keywords import KeywordAnalyzer
from ..language.questions import is_question
from ..values.hits import CosineBounds, Hit
from .corrections import corrected_text, drop_corrected
from .evidence import SAYS_NOTHING
from .validity import stated_in, valid_part, without_doubtful

_MAX_QUOTES = 3
_MAX_VALUES = 8
"""So many memories are quoted where they state the values of one subject and predicate."""


class Nearness:
    """Chooses memories by how near they are to a question.

    Args:
        analyzer: Splits texts into terms.
        min_cosine: The cosines from which a memory counts as evidence, for the model that found it.
        min_overlap: The share of the question's content terms from which it counts whatever its cosine.
        min_share: The share of the best score from which a further memory counts as well.
    """

    def __init__(
        self,
        *,
        analyzer: KeywordAnalyzer,
        min_cosine: CosineBounds,
        min_overlap: float = 0.25,
        min_share: float = 0.8,
    ) -> None:
        self._analyzer = analyzer
        self._min_cosine = min_cosine
        self._min_overlap = min_overlap
        self._min_share = min_share

    def choose(self, question: str, hits: Sequence[Hit]) -> list[tuple[Hit, str]]:
        """The memories that are near enough, best first, each with what it states about the question."""
        terms = self._analyzer.content_terms(question)
        memories = [hit for hit in drop_corrected(hits) if hit.kind.is_quotable]
        statements = [(hit, self._statement(hit, question, terms)) for hit in memories]
        relevant = [(hit, text) for hit, text in statements if text]
        best = max((hit.score for hit, _ in relevant), default=0.0)
        near = [(hit, text) for hit, text in relevant if hit.score >= self._min_share * best]
        return _of_one_matter(near) or near[:_MAX_QUOTES]

    def _statement(self, hit: Hit, question: str, terms: set[str]) -> str | None:
        """What a memory states that is about the question and not out of date; None where that is nothing."""
        text = corrected_text(hit)
        if text is None or is_question(text) or junk_kind(text) in SAYS_NOTHING:
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


def _of_one_matter(quoted: Sequence[tuple[Hit, str]]) -> list[tuple[Hit, str]]:
    """Where the best memories state several values of one subject and predicate, all of those, else none."""
    matters = [{(fact.subject, fact.predicate) for fact in stated_in(text, hit.validity)} for hit, text in quoted]
    alike = [pair for pair, matter in zip(quoted, matters, strict=True) if not matter.isdisjoint(matters[0])]
    is_needed = any(hit.instead_of for hit, _ in alike)
    return alike[:_MAX_VALUES] if is_needed and len(alike) > 1 else []
