"""Words of everyday life that mean the same in Chinese and in English, for keyword search across languages.

`data/glossary.txt`: one group a line, Chinese words in Simplified characters, a tab, English ones.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ..values.text import fold_compatible
from ..values.vectors import SparseVector
from .keywords import HAN_RUN, KeywordAnalyzer, chinese_words, sparse_vector
from .word_lists import entries

WEIGHT = 0.5
"""Weight of a term in the other language, as a share of one that the query has itself."""
_MOST_PARTS = 4
"""Words, or parts of a word, that make up an entry at most."""


def query_across(text: str, analyzer: KeywordAnalyzer) -> SparseVector:
    """The weights of a query, with the terms of what its words mean in the other language.

    Args:
        text: The query.
        analyzer: Splits texts into terms.
    """
    meant = (term for word in translations(text, analyzer) for term in analyzer.terms(word))
    own = {term: float(count) for term, count in Counter(analyzer.terms(text)).items()}
    return sparse_vector({**dict.fromkeys(meant, WEIGHT), **own})


def translations(text: str, analyzer: KeywordAnalyzer) -> list[str]:
    """What the words of a text mean in the other language, each once; of words within each other the longest.

    Args:
        text: In either language, or in both.
        analyzer: Splits texts into terms.
    """
    folded, known = fold_compatible(text), _meanings()
    han = (word for run in HAN_RUN.findall(folded) for word in _longest([*_parts(run, known)], "", known))
    latin = _longest(analyzer.terms(HAN_RUN.sub(" ", folded)), " ", known)
    return list(dict.fromkeys(meaning for word in (*han, *latin) for meaning in known[word]))


def _parts(run: str, known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The words of a run; of a word that is not known, the longest known words in it, if any."""
    for word in chinese_words(run):
        inner = [] if word in known else [part for part in _longest(word, "", known) if len(part) > 1]
        yield from inner or [word]


def _longest(parts: Sequence[str], between: str, known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The known words that consecutive parts make up, from left to right, each the longest that begins there."""
    start = 0
    while start < len(parts):
        for end in range(min(len(parts), start + _MOST_PARTS), start, -1):
            if (word := between.join(parts[start:end])) in known:
                yield word
                start = end - 1
                break
        start += 1


@cache
def _meanings() -> Mapping[str, Sequence[str]]:
    """By a Chinese word, or the terms of an English one, what it means."""
    analyzer = KeywordAnalyzer()
    known: dict[str, list[str]] = {}
    for entry in entries("glossary"):
        chinese, english = (side.split(",") for side in entry.split("\t"))
        for word in chinese:
            known.setdefault(word, []).extend(english)
        for word in english:
            if terms := analyzer.terms(word):
                known.setdefault(" ".join(terms), []).extend(chinese)
    return known
