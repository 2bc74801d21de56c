"""Decodes text whose encoding nobody declared, or declared wrongly: UTF-8, UTF-16, UTF-32, GB18030, Big5."""

import codecs
from collections.abc import Iterator
from functools import cache

from memory.values.text import to_simplified

from .limits import Unreadable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "ascii": "utf-8",
}
_CHINESE = ("gb18030", "cp950", "big5hkscs")
_PUNCTUATION = frozenset("，。、；：？！「」『』（）《》〈〉【】“”‘’…—　·～％﹏")
_LEAST_COMMON = 0.7
_SAMPLE = 20_000


def decode(content: bytes, declared: str = "") -> str:
    """The text of a file.

    A byte order mark decides, then UTF-8 where all of it is valid, then what was declared, then which encoding of
    Chinese gives the most common characters.

    Raises:
        Unreadable: It is no text, or in an encoding that is not known.
    """
    for mark, name in _MARKS:
        if content.startswith(mark):
            return _checked(_try(content, name))
    wide = _utf_16_by_zeros(content)
    for name in filter(None, (wide, "" if wide else "utf-8", declared)):
        text = _try(content, name)
        if text is not None:
            return _checked(text)
    return _checked(_likeliest(content))


def _try(content: bytes, name: str) -> str | None:
    try:
        codec = codecs.lookup(name).name
        return content.decode(_WIDER.get(codec, codec))
    except (LookupError, UnicodeError):
        return None


def _utf_16_by_zeros(content: bytes) -> str:
    """Which UTF-16 a text without a mark is in, where many bytes on one side are 0 (Latin letters, line ends)."""
    sample = content[:_SAMPLE]
    high, low = sample[::2].count(0), sample[1::2].count(0)
    if len(content) % 2 or max(high, low) <= 2 * min(high, low):
        return ""
    return "utf-16-be" if high > low else "utf-16-le"


def _likeliest(content: bytes) -> str | None:
    share, text = max(_candidates(content), key=lambda candidate: candidate[0], default=(0.0, ""))
    if share >= _LEAST_COMMON:
        return text
    latin = _try(content, "cp1252")
    letters = latin is not None and sum(map(str.isalpha, latin)) > len(latin) / 2
    others = sum(byte > 0x7F for byte in content)
    return latin if letters and others < len(content) / 5 else None


def _candidates(content: bytes) -> Iterator[tuple[float, str]]:
    """Texts of the encodings of Chinese, each with the share of its other than ASCII characters that are common."""
    for name in _CHINESE:
        text = _try(content, name)
        if text is not None:
            others = [character for character in to_simplified(text[:_SAMPLE]) if character > "\x7f"]
            common = sum(character in _PUNCTUATION or character in _common_characters() for character in others)
            yield common / max(1, len(others)), text


@cache
def _common_characters() -> frozenset[str]:
    """The 3,755 characters of level 1 of GB 2312: those that are used most."""
    pairs = (bytes((row, cell)) for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF))
    return frozenset(b"".join(pairs).decode("gb2312", errors="ignore"))


def _checked(text: str | None) -> str:
    if text is None:
        raise Unreadable("its encoding is not known")
    binary = sum(character < "\x09" or "\x0e" <= character < "\x1b" for character in text[:_SAMPLE])
    if binary > len(text[:_SAMPLE]) / 100:
        raise Unreadable("it is no text")
    return text
