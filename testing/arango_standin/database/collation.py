"""The order of strings: an approximation of ICU's root collation, which ArangoDB uses for `<`, `>` and `SORT`.

Manual, "Type and value order": strings are compared by the alphabetical order of the server's language. The
approximation reproduces where that differs from code-point order: punctuation before digits before letters, `a`
before `A` before `b`, accents only where letters tie, control characters ignored. Scripts and Chinese characters stay
in code-point order.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_BEFORE_DIGITS = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_SPACES = "\t\n\v\f\r\x85"
_SPACE, _PUNCTUATION, _DIGIT, _LETTER = range(4)

CollationKey = tuple[tuple[tuple[int, int | str], ...], tuple[str, ...], tuple[int, ...]]


def _primary(character: str) -> tuple[int, int | str]:
    if character.isspace():
        return (_SPACE, ord(character))
    position = _BEFORE_DIGITS.find(character)
    if position >= 0:
        return (_PUNCTUATION, position)
    category = unicodedata.category(character)
    if category[0] in "PS":
        return (_PUNCTUATION, len(_BEFORE_DIGITS) + ord(character))
    if category == "Nd":
        return (_DIGIT, unicodedata.digit(character))
    return (_LETTER, character.casefold())


@lru_cache(maxsize=20_000)
def collation_key(text: str) -> CollationKey:
    """A sort key: comparing keys compares the strings.

    Returns:
        Base characters, then accents, then case: each level decides only where the one before ties.
    """
    primary: list[tuple[int, int | str]] = []
    secondary: list[str] = []
    tertiary: list[int] = []
    for character in unicodedata.normalize("NFKD", text):
        category = unicodedata.category(character)
        if category == "Mn":
            secondary.append(f"{len(primary):09d}{character}")
        elif category not in ("Cc", "Cf") or character in _SPACES:
            primary.append(_primary(character))
            tertiary.append(1 if category == "Lu" else 0)
    return tuple(primary), tuple(secondary), tuple(tertiary)
