"""Text as Jiyi compares it: width, case and script folded, offsets kept where they matter."""

import re
import unicodedata
from functools import cache
from typing import Any

_SPACES = re.compile(r"\s+")
_CJK_GAP = re.compile(r"(?<=[\u3400-\u9fff\uf900-\ufaff])\s+|\s+(?=[\u3400-\u9fff\uf900-\ufaff])")
_HAN_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))


@cache
def _simplified_table() -> dict[int, str]:
    """Traditional and variant characters to Simplified, one to one, so that folding keeps every offset."""
    from opencc import OpenCC  # loads its dictionaries: not at import

    convert = OpenCC("t2s").convert
    table = {}
    for first, last in _HAN_RANGES:
        for code in range(first, last + 1):
            folded = convert(chr(code))
            if len(folded) == 1 and folded != chr(code):
                table[code] = folded
    return table


def to_simplified(text: str) -> str:
    """Folds Traditional characters to Simplified one by one: `len` and all offsets stay as they were."""
    return text.translate(_simplified_table())


@cache
def _converter(config: str) -> Any:
    from opencc import OpenCC

    return OpenCC(config)


def to_traditional(text: str) -> str:
    """Writes Simplified text in Traditional characters (Taiwan standard); the length may change."""
    return str(_converter("s2tw").convert(text))


def is_han(character: str) -> bool:
    """Whether one character is a Han character."""
    code = ord(character)
    return any(first <= code <= last for first, last in _HAN_RANGES)


def has_han(text: str) -> bool:
    """Whether a text holds any Han character."""
    return any(is_han(character) for character in text)


def normalise(value: str) -> str:
    """The form under which two spellings of one name are equal.

    NFKC (full-width to half-width), casefold, Simplified, runs of white space to one space, and no space between
    Han and other characters: `宏康 HCI`, `宏康HCI` and `宏康　ＨＣＩ` are one name.
    """
    folded = to_simplified(unicodedata.normalize("NFKC", value)).casefold()
    return _CJK_GAP.sub("", _SPACES.sub(" ", folded).strip())


def is_traditional(text: str) -> bool:
    """Whether a text is written in Traditional characters: it changes when folded to Simplified."""
    return to_simplified(text) != text
