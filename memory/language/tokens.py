"""Words with offsets: Chinese ones with part of speech, by jieba; Latin ones and numbers, and which are identifiers.

Addresses of the web are no words.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..values.text import fold, has_han
from ..values.text_caches import text_cache

_LETTER = r"A-Za-z\u00c0-\u024f\u0300-\u036f"
_TOKEN = re.compile(rf"[{_LETTER}0-9]+(?:[-_.'/][{_LETTER}0-9]+)*(?:\+\+|#(?![{_LETTER}0-9]))?")
_URL = re.compile(r"(?:https?://|www\.)[^\s\u3000-\u9fff\uff00-\uffef]{1,2000}")
_ADDRESS_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")
_RUN = re.compile(rf"[{_LETTER}0-9]+")
_LONGEST = 60
_CODE = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*$")
_SHORTEST = 4
"""Characters of a code; shorter ones are hardly ever names in conversation: Q4, A2, B1."""
_ORDINARY = re.compile(
    r"[vV]\d+(?:\.\d+)*$|\d+(?:-[a-z]+)+$|(?:19|20)\d\d[-/.].*$|\d{1,2}/\d{1,2}.*$|[a-z]+\d{0,2}$|\d+x\d*$|[A-Za-z]?\d+[-/.]\d+[-/.]\d+$"
)
"""Versions, words of numbers, dates, sizes: v2.3, 3-year, 2026-03-02, mp3, 4x4."""
_AMOUNT = re.compile(r"\d+(?:\.\d+)?-?[A-Za-z]{1,5}$|\d[^A-Z]*$")
_NUMBERED = re.compile(r"(?<![\w-])(?:Room|Rack|Gate|Building|ISO|IEC|IEEE|RFC) [A-Z]?\d+(?:[-.:]\d+)*(?![\w-])")


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


@dataclass(frozen=True, slots=True)
class LatinToken:
    """A run of Latin letters and digits with inner hyphens, points, apostrophes: `AI-Box`, `v2.3.1`, `O'Keefe`."""

    text: str
    start: int
    end: int


def latin_tokens(folded: str) -> list[LatinToken]:
    """Splits the Latin part of a folded text; one pass, so its time is linear whatever the text.

    A closing 's is no part of a token. Web and mail addresses are left out, and so is what is longer than 60
    characters: no name is.
    """
    skip = _addresses(folded)
    tokens = []
    for match in _TOKEN.finditer(folded):
        start, end = match.span()
        if end - start > _LONGEST:
            continue
        while skip and skip[-1][1] <= start:
            skip.pop()
        if skip and skip[-1][0] < end:
            continue
        text = match.group()
        if text[-2:] in ("'s", "'S"):
            text, end = text[:-2], end - 2
        tokens.append(LatinToken(text, start, end))
    return tokens


def find_codes(folded: str) -> Iterator[tuple[int, int]]:
    """Finds identifiers in a folded text, which may overlap (DESIGN §6).

    They are tokens that mix letters and digits (`RM05-008`, `B2-17`, `H200`), rooms and standards (`Room 101`,
    `ISO 9001`), but not bare numbers, versions, dates, telephone numbers, ordinals and amounts with a unit (`3pm`,
    `20kg`).
    """
    for token in latin_tokens(folded):
        if _is_code(token.text):
            yield token.start, token.end
    for match in _NUMBERED.finditer(folded):
        yield match.span()


def widen_to_identifiers(text: str, start: int, end: int) -> tuple[int, int]:
    """A span with the whole of each Latin word, number, identifier and address that it cuts; an empty one as it is."""
    folded = fold(text)
    if start >= end:
        return start, end
    whole = [*(match.span() for match in _RUN.finditer(folded)), *find_codes(folded), *_addresses(folded)]
    cut = [(first, last) for first, last in whole if first < end and start < last]
    return min([start, *(first for first, _ in cut)]), max([end, *(last for _, last in cut)])


def _addresses(folded: str) -> list[tuple[int, int]]:
    """Spans of web and mail addresses, the first one last."""
    spans = [match.span() for match in _URL.finditer(folded)]
    place = folded.find("@")
    while place >= 0:
        start, end = place, place + 1
        while start > max(0, place - 64) and folded[start - 1] in _ADDRESS_CHARACTERS:
            start -= 1
        while end < min(len(folded), place + 255) and folded[end] in _ADDRESS_CHARACTERS:
            end += 1
        if end - place > 1 or start < place:
            spans.append((start, end))
        place = folded.find("@", end)
    return sorted(spans, reverse=True)


def _is_code(text: str) -> bool:
    if len(text) < _SHORTEST or not _CODE.match(text) or _ORDINARY.match(text):
        return False
    return not (text[0].isdigit() and _AMOUNT.match(text))
