"""Values that name two things although they look alike: they match on equality only (DESIGN §6)."""

import re
import unicodedata
from collections import Counter

from ..values.text import has_han, is_han, normalise, to_simplified

_HAN_MARKS = frozenset("零〇一二两三四五六七八九十百千万亿甲乙丙丁戊己庚辛壬癸")
_HAN_SIDES = frozenset("东西南北上下左右前后内外大小新旧男女")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_PART = re.compile(r"\d+|[^\W\d_\u3400-\u9fff]+")
_PRONOUNS = frozenset("aAiI")
_MAX_HAN = 4
_MAX_WORDS = 3
_ADDRESS = re.compile(r"\S@\S|://|^\w[\w-]*(?:\.\w[\w-]*)+$")
_WORD_MARKS = re.compile(
    r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand"
    r"|million|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|octobe"
    r"|november|december|alpha|beta|gamma|delta)$"
)
_WORD_SIDES = re.compile(
    r"(?:last|next|north|south|east|west|left|right|upper|lower|big|small|old|new|male|female|inner|outer"
    r"|front|back)$"
)
_ROMAN = re.compile(r"(?=[ivxlcdm]{2})m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})$")


def are_distinct(left: str, right: str) -> bool:
    """Whether two unequal values name two things, however similar their spelling or their embeddings.

    True where they differ in a number in any script (`RM05-008`, `301室`, `三樓`, `v2.4`, `Type II`, `+886 2 …`, a
    date), in a single letter (`Plan B`), in an abbreviation in capitals (`SKU-AB`), or only in words of direction or
    size (`台北辦公室` / `台南辦公室`). Also true where either is an address (`ann@example.org`, a host, a URL), an
    identifier, or a bare name or word (`王小明`, `Alice Chen`, `iPhone`, `purchase`): e5 gives 王小明 and 王小華 a
    cosine of 0.955. False for values that are equal after `memory.values.text.normalise`.
    """
    if normalise(left) == normalise(right):
        return False
    if any(_ADDRESS.search(value) or is_identifier(value) or _is_bare(value) for value in (left, right)):
        return True
    return _marks(left) != _marks(right) or _without_sides(left) == _without_sides(right)


def is_identifier(value: str) -> bool:
    """Whether a whole value is an identifier.

    That is one word with a digit or in capitals only (`RM05-008`, `0912-345`), or distinguishing marks with at most
    one word or four Han characters beside them (`Room 101`, `301室`, `三樓機房`, `Plan B`).
    """
    folded = unicodedata.normalize("NFKC", value).strip()
    if not folded:
        return False
    if not has_han(folded) and not re.search(r"\s", folded):
        letters = [character for character in folded if character.isalpha()]
        return any(character.isdigit() for character in folded) or (bool(letters) and all(c.isupper() for c in letters))
    words = [part for part in _parts(folded) if not _is_mark(part)]
    han = [character for character in to_simplified(folded) if is_han(character) and character not in _HAN_MARKS]
    return bool(_marks(folded)) and ((len(words) <= 1 and not han) or (not words and len(han) <= _MAX_HAN))


def _is_bare(value: str) -> bool:
    """Whether a value is a word or a name rather than a phrase.

    That is up to four Han characters, a single Latin word, or up to three words that all begin with a capital.
    """
    folded = unicodedata.normalize("NFKC", value).strip()
    words = _WORD.findall(folded)
    if has_han(folded):
        return sum(map(is_han, folded)) <= _MAX_HAN and sum(map(len, words)) <= _MAX_HAN
    return len(words) <= 1 or (len(words) <= _MAX_WORDS and all(word[0].isupper() for word in words))


def _marks(value: str) -> Counter[str]:
    """The numbers, letters and abbreviations that distinguish a value from others of its kind, with their counts."""
    folded = unicodedata.normalize("NFKC", value)
    marks = Counter(character for character in to_simplified(folded) if character in _HAN_MARKS)
    marks.update(part.casefold() for part in _parts(folded) if _is_mark(part))
    return marks


def _without_sides(value: str) -> str:
    """The normalised value without words of direction and size."""
    kept = "".join(character for character in normalise(value) if character not in _HAN_SIDES)
    return " ".join(word for word in kept.split() if not _WORD_SIDES.match(word))


def _parts(folded: str) -> list[str]:
    """Runs of digits, and runs of letters that are not Han."""
    return [part for word in _WORD.findall(folded) for part in _PART.findall(word)]


def _is_mark(part: str) -> bool:
    lower = part.casefold()
    return (
        part.isdigit()
        or (len(part) == 1 and part not in _PRONOUNS)
        or (len(part) > 1 and part.isupper() and part.isascii())
        or bool(_WORD_MARKS.match(lower) or _ROMAN.match(lower))
    )
