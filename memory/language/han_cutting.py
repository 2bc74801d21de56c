"""Cuts Chinese with jieba, and takes well-known names and function words out of what jieba glued by guessing."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ..values.text import has_han
from . import han_words as known

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


class Piece(NamedTuple):
    """A word with jieba's part of speech; `listed` says whether jieba's dictionary holds it."""

    text: str
    tag: str
    listed: bool


def cut_han(folded: str) -> list[Piece]:
    """The words of a folded text, in order and without gaps; empty where there is no Chinese.

    jieba guesses words that no dictionary holds from their characters alone, and so takes 電和鴻海 in 台積電和鴻海 for
    one. A well-known name that such guesses cut through is put together again, and a pronoun, a conjunction, a
    preposition or a verb of a place (和, 在, 住) at the head of a guess is a word of its own.
    """
    if not has_han(folded):
        return []
    return [part for piece in _around_names(folded, _jieba(folded)) for part in _opened(piece)]


def frequency(word: str) -> int:
    """How often the corpus behind jieba's dictionary holds a folded word of that dictionary, give or take one."""
    return int(_segmenter().suggest_freq(word))


@cache
def _segmenter() -> Any:
    import rjieba  # loads the dictionary: not at import

    return rjieba


@cache
def _names() -> tuple[re.Pattern[str], dict[str, str]]:
    tags = dict.fromkeys(known.PLACES, "ns") | dict.fromkeys(known.ORGANISATIONS, "nt")
    tags |= dict.fromkeys((*known.PRODUCTS, *known.WORKS), "nz")
    return re.compile("|".join(sorted(map(re.escape, tags), key=len, reverse=True))), tags


def _jieba(text: str) -> list[Piece]:
    segmenter = _segmenter()
    return [Piece(word, tag, bool(segmenter.has_word(word))) for word, tag in segmenter.tag(text)] if text else []


def _around_names(folded: str, pieces: list[Piece]) -> Iterator[Piece]:
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
        yield Piece(match[0], tags[match[0]], listed=True)
        rest = _jieba(folded[end:stop])
        pieces[place:last] = rest
        position = end
    yield from pieces[place:]


def _opened(piece: Piece) -> list[Piece]:
    head = piece.text[0]
    tag = "r" if head in _PRONOUNS and len(piece.text) > 1 else _OPENING.get(head, "")
    if not tag and not _segmenter().has_word(piece.text[:2]):
        tag = _OPENING_UNLESS_A_WORD.get(head, "")
    if piece.listed or not tag or (tag != "r" and len(piece.text) < _SHORTEST):
        return [piece]
    return [Piece(head, tag, listed=True), *_jieba(piece.text[1:])]
