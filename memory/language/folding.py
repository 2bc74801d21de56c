"""Folding that keeps every offset: rules match on folded text and report spans of the original."""

from functools import cache

from ..values.text import to_simplified

_SURROGATES = range(0xD800, 0xE000)
_FULL_WIDTH = range(0xFF01, 0xFF5F)
_APOSTROPHES = "\u2018\u2019\u02bc"


@cache
def _table() -> dict[int, str]:
    table = {code: chr(code - 0xFEE0) for code in _FULL_WIDTH}
    table |= dict.fromkeys(_SURROGATES, "\ufffd")
    table |= {ord(character): "'" for character in _APOSTROPHES}
    table |= {ord("\u3000"): " ", ord("\u00a0"): " ", ord("\uff65"): "·", ord("\u30fb"): "·", ord("\u2027"): "·"}
    return table


def fold(text: str) -> str:
    """Simplified characters, half-width Latin and punctuation, straight apostrophes; `len` stays as it was.

    Lone surrogates (which no UTF-8 library accepts) become U+FFFD.
    """
    return to_simplified(text.translate(_table()))
