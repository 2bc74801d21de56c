"""Chinese words with part of speech and offsets, from jieba's dictionary."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from .han_cutting import cut_han
from .han_words import STOP_NAMES

NAME_TAGS = ("nr", "ns", "nt", "nz", "x", "eng")
"""jieba's parts of speech of names, and of what is not Chinese."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the folded text: `tag` is jieba's part of speech, `listed` whether its dictionary holds the word."""

    text: str
    tag: str
    start: int
    end: int
    listed: bool


class Words:
    """The words of one text, in order and without gaps."""

    def __init__(self, folded: str) -> None:
        self._words: list[Word] = []
        position = 0
        for text, tag, listed in cut_han(folded):
            end = position + len(text)
            self._words.append(Word(text, tag, position, end, listed))
            position = end
        self._starts = [word.start for word in self._words]

    def __iter__(self) -> Iterator[Word]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, place: int) -> Word:
        return self._words[place]

    def at(self, offset: int) -> int:
        """The place of the word that covers `offset`; -1 where there is none."""
        return bisect_right(self._starts, offset) - 1

    def cuts_word(self, start: int, end: int) -> bool:
        """Whether the span begins or ends inside an ordinary word, so that it is no word itself: 小明 in 小·明星.

        Words that jieba guessed or holds for names do not count: it is the span that may be right there.
        """
        return self._inside(start) is not None or self._inside(end) is not None

    def opens_word(self, start: int, end: int) -> bool:
        """Whether the span may be a word where long words begin with it: 今天 in 今天天氣, but not in 說明天文."""
        ending = self._inside(end)
        return self._inside(start) is None and (ending is None or ending.start == start)

    def _inside(self, edge: int) -> Word | None:
        place = self.at(edge)
        if place < 0:
            return None
        word = self._words[place]
        ordinary = word.listed and (not word.tag.startswith(NAME_TAGS) or word.text in STOP_NAMES)
        return word if word.start < edge < word.end and ordinary else None
