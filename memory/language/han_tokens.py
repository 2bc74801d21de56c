"""Chinese words with part of speech and offsets: jieba's, with well-known names and function words set apart.

jieba guesses words that no dictionary holds from their characters alone, and so takes 電和鴻海 in 台積電和鴻海 for one.
A well-known name that such guesses cut through is put together again, and a pronoun, a conjunction, a preposition or a
verb of a place (和, 在, 住) at the head of a guess becomes a word of its own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ..values.text import has_han
from . import han_words as known

NAME_TAGS = ("nr", "ns", "nt", "nz", "x", "eng")
"""jieba's parts of speech of names, and of what is not Chinese."""

_OPENING = {"和": "c", "与": "c", "跟": "p", "是": "v", "在": "p"}
_OPENING_UNLESS_A_WORD = {
    **dict.fromkeys("住去到逛找坐搭", "v"),
    **dict.fromkeys("给被把从由", "p"),
}
"""The same, except where a word of the dictionary begins with it: 住·云栖, but not 住友·商事."""
OPENING = frozenset({*_OPENING, *_OPENING_UNLESS_A_WORD})
"""Words of one character that stand before names and begin next to none."""
_SHORTEST = 3  # characters of a guess that may hold a function word and a name
_PRONOUNS = "我你您他她它"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a folded text with its code-point offsets.

    `tag` is jieba's part of speech. `listed` says whether jieba's dictionary holds the word; a noun that no dictionary
    holds is mostly somebody's name.
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
        ordinary = word.listed and (not word.tag.startswith(NAME_TAGS) or word.text in known.STOP_NAMES)
        return word if word.start < edge < word.end and ordinary else None


@lru_cache(maxsize=512)
def cut(folded: str) -> tuple[Word, ...]:
    """The words of a short folded text, in order and without gaps; empty where there is no Chinese."""
    return tuple(_words(folded))


def frequency(word: str) -> int:
    """How often the corpus behind jieba's dictionary holds a folded word of that dictionary, give or take one."""
    return int(_segmenter().suggest_freq(word))


class _Piece(NamedTuple):
    text: str
    tag: str
    listed: bool


def _words(folded: str) -> Iterator[Word]:
    if not has_han(folded):
        return
    position = 0
    for piece in _around_names(folded, _jieba(folded)):
        for text, tag, listed in _opened(piece):
            yield Word(text, tag, position, position + len(text), listed)
            position += len(text)


@cache
def _segmenter() -> Any:
    import rjieba  # loads the dictionary: not at import

    return rjieba


@cache
def _names() -> tuple[re.Pattern[str], dict[str, str]]:
    tags = dict.fromkeys(known.PLACES, "ns") | dict.fromkeys(known.ORGANISATIONS, "nt")
    tags |= dict.fromkeys((*known.PRODUCTS, *known.WORKS), "nz")
    return re.compile("|".join(sorted(map(re.escape, tags), key=len, reverse=True))), tags


def _jieba(text: str) -> list[_Piece]:
    segmenter = _segmenter()
    return [_Piece(word, tag, bool(segmenter.has_word(word))) for word, tag in segmenter.tag(text)] if text else []


def _around_names(folded: str, pieces: list[_Piece]) -> Iterator[_Piece]:
    pattern, tags = _names()
    place = position = 0
    for match in pattern.finditer(folded):
        start, end = match.span()
        while place < len(pieces) and position + len(pieces[place].text) <= start:
            position += len(pieces[place].text)
            yield pieces[place]
            place += 1
        last, stop = place, position
        while last < len(pieces) and stop < end:
            stop += len(pieces[last].text)
            last += 1
        cut_left = position < start and pieces[place].listed
        cut_right = stop > end and pieces[last - 1].listed
        whole = last == place + 1 and pieces[place].text == match[0]
        if position > start or cut_left or cut_right or whole:
            continue  # a word of the dictionary reaches over the edge: there is no name there
        yield from _jieba(folded[position:start])
        yield _Piece(match[0], tags[match[0]], listed=True)
        rest = _jieba(folded[end:stop])
        pieces[place:last] = rest
        position = end
    yield from pieces[place:]


def _opened(piece: _Piece) -> list[_Piece]:
    head = piece.text[0]
    tag = "r" if head in _PRONOUNS and len(piece.text) > 1 else _OPENING.get(head, "")
    if not tag and not _segmenter().has_word(piece.text[:2]):
        tag = _OPENING_UNLESS_A_WORD.get(head, "")
    if piece.listed or not tag or (tag != "r" and len(piece.text) < _SHORTEST):
        return [piece]
    return [_Piece(head, tag, listed=True), *_jieba(piece.text[1:])]
