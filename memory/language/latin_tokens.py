"""Latin words, codes and numbers with offsets; addresses of the web are no words."""

import re
from dataclasses import dataclass

_LETTER = r"A-Za-z\u00c0-\u024f\u0300-\u036f"
_TOKEN = re.compile(rf"[{_LETTER}0-9]+(?:[-_.'/][{_LETTER}0-9]+)*(?:\+\+|#(?![{_LETTER}0-9]))?")
_URL = re.compile(r"(?:https?://|www\.)[^\s\u3000-\u9fff\uff00-\uffef]{1,2000}")
_ADDRESS_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")
_LONGEST = 60


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
