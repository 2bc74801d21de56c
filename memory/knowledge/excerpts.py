"""Which sentences of a chunk are read together with a question."""

from collections.abc import Set

from ..language.keywords import KeywordAnalyzer
from ..language.sentences import split_sentences
from ..values.text import has_han

MAX_WIDTH = 360
"""Of an excerpt; about 110 tokens of the answer reader in every language, so that four fit."""
_HAN_WIDTH = 3


def find_excerpt(content: str, terms: Set[str], analyzer: KeywordAnalyzer) -> str:
    """The sentences around those with most of the terms, of at most `MAX_WIDTH` unless one alone is wider.

    Args:
        content: Of a chunk; returned whole where no sentence has any of the terms.
        terms: Of the question.
        analyzer: Splits the sentences into terms.
    """
    sentences = split_sentences(content)
    shared = [len(terms & analyzer.content_terms(sentence)) for sentence in sentences]
    widths = [_width(sentence) for sentence in sentences]
    if sum(widths) <= MAX_WIDTH or not any(shared):
        return content
    first = last = shared.index(max(shared))
    width = widths[first]
    while True:
        beside = [at for at in (first - 1, last + 1) if 0 <= at < len(sentences)]
        fitting = [at for at in beside if width + widths[at] <= MAX_WIDTH]
        if not fitting:
            return "".join(sentences[first : last + 1]).strip()
        chosen = max(fitting, key=lambda at: (shared[at], at))
        first, last, width = min(first, chosen), max(last, chosen), width + widths[chosen]


def _width(text: str) -> int:
    """Its length, in which a Chinese character counts as the letters of as many tokens."""
    return sum(_HAN_WIDTH if has_han(character) else 1 for character in text)
