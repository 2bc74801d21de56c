"""Chinese words with part of speech and offsets, by jieba."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..values.text import has_han
from ..values.text_caches import text_cache


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a folded text with its code-point offsets.

    `tag` is jieba's part of speech. `listed` says whether jieba's dictionary holds the word; others it guesses from
    their characters alone, and so takes 電和鴻海 in 台積電和鴻海 for one.
    """

    text: str
    tag: str
    start: int
    end: int
    listed: bool


class Words:
    """The words of one folded text, in order and without gaps; none where there is no Chinese."""

    def __init__(self, folded: str) -> None:
        self._words = list(_words(folded))
        self._starts = [word.start for word in self._words]

    def cuts_word(self, start: int, end: int) -> bool:
        """Whether the span begins or ends inside a word, so that it is none itself: 小明 in 小明星.

        Words that jieba guessed do not count: it is the span that may be right there.
        """
        return self._inside(start) is not None or self._inside(end) is not None

    def opens_word(self, start: int, end: int) -> bool:
        """Whether the span may be a word where long words begin with it: 今天 in 今天天氣, but not in 說明天文."""
        ending = self._inside(end)
        return self._inside(start) is None and (ending is None or ending.start == start)

    def _inside(self, edge: int) -> Word | None:
        """The word of the dictionary that an offset lies inside of."""
        place = bisect_right(self._starts, edge) - 1
        if place < 0:
            return None
        word = self._words[place]
        return word if word.start < edge < word.end and word.listed else None


@text_cache(maxsize=512)
def cut(folded: str) -> tuple[Word, ...]:
    """The words of a short folded text, in order and without gaps; empty where there is no Chinese."""
    return tuple(_words(folded))


@cache
def _segmenter() -> Any:
    import rjieba  # loads the dictionary: not at import

    return rjieba


def _words(folded: str) -> Iterator[Word]:
    if not has_han(folded):
        return
    segmenter = _segmenter()
    position = 0
    for text, tag in segmenter.tag(folded):
        yield Word(text, tag, position, position + len(text), bool(segmenter.has_word(text)))
        position += len(text)
