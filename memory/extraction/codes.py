"""Finds identifiers by their form: product codes, rooms, standards (DESIGN §6)."""

import re
from collections.abc import Iterator

from ..language.latin_tokens import latin_tokens

_CODE = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*$")
_SHORTEST = 4
"""Characters of a code; shorter ones are hardly ever names in conversation: Q4, A2, B1."""
_ORDINARY = re.compile(
    r"[vV]\d+(?:\.\d+)*$|\d+(?:-[a-z]+)+$|(?:19|20)\d\d[-/.].*$|\d{1,2}/\d{1,2}.*$|[a-z]+\d{0,2}$|\d+x\d*$|[A-Za-z]?\d+[-/.]\d+[-/.]\d+$"
)
"""Versions, words of numbers, dates, sizes: v2.3, 3-year, 2026-03-02, mp3, 4x4."""
_AMOUNT = re.compile(r"\d+(?:\.\d+)?-?[A-Za-z]{1,5}$|\d[^A-Z]*$")
_NUMBERED = re.compile(r"(?<![\w-])(?:Room|Rack|Gate|Building|ISO|IEC|IEEE|RFC) [A-Z]?\d+(?:[-.:]\d+)*(?![\w-])")


def find_codes(folded: str) -> Iterator[tuple[int, int]]:
    """Finds identifiers in a folded text, which may overlap.

    They are tokens that mix letters and digits (`RM05-008`, `B2-17`, `H200`), rooms and standards (`Room 101`,
    `ISO 9001`), but not bare numbers, versions, dates, telephone numbers, ordinals and amounts with a unit (`3pm`,
    `20kg`).
    """
    for token in latin_tokens(folded):
        if _is_code(token.text):
            yield token.start, token.end
    for match in _NUMBERED.finditer(folded):
        yield match.span()


def _is_code(text: str) -> bool:
    if len(text) < _SHORTEST or not _CODE.match(text) or _ORDINARY.match(text):
        return False
    return not (text[0].isdigit() and _AMOUNT.match(text))
