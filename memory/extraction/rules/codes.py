"""Finds identifiers: product codes, versions, standards, rooms (DESIGN §6)."""

import re
from collections.abc import Iterator, Sequence

from ...language import latin_words as known
from ...language.latin_tokens import LatinToken
from ...values.mentions import EntitySubtype
from .candidates import Candidate, Layer

_CODE = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9]+(?:[-_/.][A-Za-z0-9]+)*$")
_VERSION = re.compile(
    r"[vV]\d+(?:\.\d+)*(?:[-.]?(?:alpha|beta|rc|dev|post)\d*)?$|\d{1,2}(?:\.\d{1,3}){2,3}(?:[-.]?(?:alpha|beta|rc|dev|post)\d*)?$"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*$")
_MEASURE = re.compile(r"\d+(?:\.\d+)?-?[A-Za-z]{1,5}$")
_ORDINARY = re.compile(
    r"\d+(?:-[a-z]+)+$|(?:19|20)\d\d[-/.].*$|\d{1,2}/\d{1,2}.*$|[a-z]+\d{0,2}$|\d+x\d*$|[A-Za-z]?\d+[-/.]\d+[-/.]\d+$"
)
_VERSION_CUES = re.compile(r"(?:版本?|版号|version|release)[是为:： ]{0,3}$", re.IGNORECASE)

_THOUSANDS = re.compile(r",\d{3}")

_LONGEST_MODEL = 4
_SENTENCE_ENDS = ".!?。！？\n"


def find_codes(folded: str, tokens: Sequence[LatinToken]) -> Iterator[Candidate]:
    """Finds identifiers among the Latin tokens of a folded text.

    They are tokens that mix letters and digits (`RM05-008`, `v2.3.1`, `B2-17`, `H200`), versions with at least two
    points, and names with a number (`ISO 9001`, `RTX 4090`, `Room 101`, `Python 3.11`, `iPhone 15 Pro`), but not bare
    numbers, dates, telephone numbers, ordinals and amounts with a unit (`3pm`, `20kg`, `5G`).
    """
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if following and folded[token.end : following.start] == " " and not _THOUSANDS.match(folded, following.end):
            numbered = _numbered(token, following)
            if numbered is not None:
                subtype, confidence = numbered
                end = following.end
                after = tokens[place + 2] if place + 2 < len(tokens) else None
                if after and after.text.lower() in known.MODEL_SUFFIXES and folded[following.end : after.start] == " ":
                    end = after.end
                yield Candidate(token.start, end, Layer.CODE, "code.numbered", confidence, subtype)
        if _is_version(token.text) or (
            _NUMBER.match(token.text) and _VERSION_CUES.search(folded, max(0, token.start - 12), token.start)
        ):
            yield Candidate(token.start, token.end, Layer.CODE, "code.version", 0.85, EntitySubtype.CODE)
        elif _is_code(token.text):
            yield Candidate(token.start, token.end, Layer.CODE, "code.mixed", 0.9, EntitySubtype.CODE)
            if place and _is_brand(folded, tokens[place - 1], token):
                start = tokens[place - 1].start
                yield Candidate(start, token.end, Layer.CODE, "code.model", 0.85, EntitySubtype.PRODUCT)


def _is_brand(folded: str, before: LatinToken, code: LatinToken) -> bool:
    """Whether a short model code belongs to the name before it (`ThinkPad X1`), not to a verb (`Test X1`)."""
    word = before.text
    if (
        len(code.text) > _LONGEST_MODEL
        or not code.text.isalnum()
        or folded[before.end : code.start] != " "
        or before.has_digit
        or word.lower() in known.COMMON
        or word.lower() in known.NEVER_NUMBERED
    ):
        return False
    begins_sentence = not folded[: before.start].rstrip() or folded[: before.start].rstrip()[-1] in _SENTENCE_ENDS
    camel_case = any(character.isupper() for character in word[1:]) and word[0].isupper()
    return camel_case or (word[0].isupper() and not begins_sentence)


def _is_version(text: str) -> bool:
    return bool(_VERSION.match(text)) and not text.startswith(("19", "20")) and text.count(".") < 3


def _is_code(text: str) -> bool:
    if len(text) < 2 or not _CODE.match(text) or _ORDINARY.match(text):
        return False
    if text[0].isdigit():
        return not _MEASURE.match(text) and any(character.isupper() for character in text)
    return True


def _numbered(name: LatinToken, number: LatinToken) -> tuple[EntitySubtype, float] | None:
    """Type and confidence of a word followed by a number (a room, standard or product); None where it is no name."""
    is_number = bool(_NUMBER.match(number.text)) or (number.text[0].isdigit() and _is_code(number.text))
    word = name.text.lower()
    if (
        not (is_number or _is_version(number.text))
        or name.has_digit
        or "'" in word
        or word in known.NEVER_NUMBERED
        or len(word) < 2
    ):
        return None
    if word in known.NUMBERED:
        return (EntitySubtype.CODE, 0.85) if name.text[0].isupper() else None
    is_year = len(number.text) == 4 and number.text.startswith(("19", "20"))
    if name.text.isupper() and len(word) <= 6:
        standard = word in ("iso", "iec", "ieee", "rfc", "ansi", "din", "cns", "en", "gb", "un")
        return (EntitySubtype.CODE if standard else EntitySubtype.PRODUCT), 0.85
    if name.text[1:] != word[1:] or (name.text[0].isupper() and not is_year):
        return EntitySubtype.PRODUCT, 0.75
    return None
