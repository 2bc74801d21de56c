"""Where the words of a query stand in a text."""

import re

from ..language.keywords import KeywordAnalyzer
from ..values.documents.corpora import Span
from ..values.text import fold_lower, has_han

_WORD = re.compile(r"[^\W_\u2e80-\u9fff\uf900-\uffdc\U00020000-\U0003ffff]+(?:[-_.'/:@][^\W_\u2e80-\u9fff]+)*")
_MAX_SPANS = 64


def find_highlights(query: str, text: str, analyzer: KeywordAnalyzer) -> tuple[Span, ...]:
    """The parts of a text that a word of the query matches, as keyword search matches it, in order and apart.

    Simplified and Traditional characters are the same, and English words by their stems. At most the first 64.
    """
    terms = analyzer.content_terms(query)
    folded = fold_lower(text)  # every offset stays
    marked = [
        (match.start(), match.end())
        for match in _WORD.finditer(folded)
        if not terms.isdisjoint(analyzer.terms(match.group()))
    ]
    for term in terms:
        if has_han(term):
            marked += [(match.start(), match.end()) for match in re.finditer(re.escape(term), folded)]
    return _merged(marked)[:_MAX_SPANS]


def _merged(spans: list[tuple[int, int]]) -> tuple[Span, ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(Span(start=start, end=end) for start, end in merged)
