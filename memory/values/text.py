"""How text is folded before it is compared or matched: width, case and script.

`normalise` is the key under which two spellings are equal; `fold` and `fold_lower` keep every offset, for patterns that
match on folded text and report spans of the original.
"""

import re
import unicodedata
from functools import cache
from typing import Any

_SPACES = re.compile(r"\s+")
_CJK_GAP = re.compile(r"(?<=[\u3400-\u9fff\uf900-\ufaff])\s+|\s+(?=[\u3400-\u9fff\uf900-\ufaff])")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_HAN_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF))
_ONE_FOR_ONE = (
    {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}  # full-width Latin letters, digits and punctuation
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # lone surrogates, which no UTF-8 library accepts
    | dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'")
    | dict.fromkeys(map(ord, "\u3000\u00a0"), " ")
    | dict.fromkeys(map(ord, "\uff65\u30fb\u2027"), "·")
)


@cache
def _simplified_table() -> dict[int, str]:
    """Traditional and variant characters to Simplified, one to one, so that folding keeps every offset."""
    from opencc import OpenCC  # loads its dictionaries: not at import

    convert = OpenCC("t2s").convert
    characters = (chr(code) for first, last in _HAN_RANGES for code in range(first, last + 1))
    converted = ((character, convert(character)) for character in characters)
    return {ord(before): after for before, after in converted if len(after) == 1 and after != before}


def to_simplified(text: str) -> str:
    """Folds Traditional characters to Simplified one by one: `len` and all offsets stay as they were."""
    return text.translate(_simplified_table())


def fold(text: str) -> str:
    """Simplified characters, half-width Latin and punctuation, straight apostrophes; `len` stays as it was.

    Lone surrogates become U+FFFD.
    """
    return to_simplified(text.translate(_ONE_FOR_ONE))


def fold_lower(text: str) -> str:
    """`fold` in lower case; a character whose lower case is longer stays as it is, so that offsets stay."""
    return "".join(low if len(low := character.lower()) == 1 else character for character in fold(text))


def fold_compatible(text: str) -> str:
    """NFKC, Simplified characters and full case folding; the length may change.

    What `normalise`, keyword terms and the units of the trained models have in common. Stored ids, indexed terms and
    trained weights rest on its results: it must not change.
    """
    return to_simplified(unicodedata.normalize("NFKC", text)).casefold()


@cache
def _to_traditional() -> Any:
    from opencc import OpenCC

    return OpenCC("s2tw").convert


def to_traditional(text: str) -> str:
    """Writes Simplified text in Traditional characters (Taiwan standard); the length may change.

    For training and tests: its dictionaries stay in memory, 40 MiB.
    """
    return str(_to_traditional()(text))


@cache
def _simplified_characters() -> frozenset[str]:
    """The characters that Traditional text writes otherwise, taken one by one; not 台, as everybody writes 臺."""
    from opencc import OpenCC

    convert = OpenCC("s2tw").convert
    characters = (chr(code) for first, last in _HAN_RANGES for code in range(first, last + 1))
    changed = {character for character in characters if convert(character) != character}
    return frozenset(changed - {"台", *map(chr, _simplified_table())})


def is_han(character: str) -> bool:
    """Whether one character is a Han character."""
    code = ord(character)
    return any(first <= code <= last for first, last in _HAN_RANGES)


def has_han(text: str) -> bool:
    """Whether a text holds any Han character."""
    return any(is_han(character) for character in text)


def is_mostly_han(text: str) -> bool:
    """Whether a text has more Han characters than Latin words, so that a name in brackets does not decide."""
    return sum(map(is_han, text)) > len(_LATIN_WORD.findall(text))


def normalise(value: str) -> str:
    """The form under which two spellings of one name are equal.

    NFKC (full-width to half-width), casefold, Simplified, runs of white space to one space, and no space between
    Han and other characters: `宏康 HCI`, `宏康HCI` and `宏康　ＨＣＩ` are one name.
    """
    return _CJK_GAP.sub("", _SPACES.sub(" ", fold_compatible(value)).strip())


def is_simplified(text: str) -> bool:
    """Whether a text has a character that is written otherwise in Traditional.

    A text that is right in both scripts has none, nor has one that only its words tell apart (周末, 老板).
    """
    return not _simplified_characters().isdisjoint(text)


def writes_simplified(text: str) -> bool:
    """Whether a Han text is to be answered in Simplified characters; one that is right in both scripts is not."""
    return is_simplified(text) and not is_traditional(text)


def is_traditional(text: str) -> bool:
    """Whether a text is written in Traditional characters: it changes when folded to Simplified."""
    return to_simplified(text) != text
