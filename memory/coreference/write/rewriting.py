"""Writes antecedents into a query so that it stays grammatical in both languages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...values.text import fold_lower, has_han, is_han
from ..detect.references import Form, Kind, Number, Reference

_NAMEABLE = re.compile(r"[A-Za-z0-9\u00c0-\u024f]")
_SPACED = re.compile(r"[\u3400-\u9fff] +[A-Za-z0-9]|[A-Za-z0-9] +[\u3400-\u9fff]")
_UNSPACED = re.compile(r"[\u3400-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u3400-\u9fff]")
_CONTRACTION = re.compile(r"'(?P<tail>s|re|ve|ll|d)\b")
_PARTICIPLE = re.compile(r" (?:been|got|had|become|gone|\w{3,}(?:ed|en))\b(?! by\b)")
_DEFINITE = re.compile(r"(?:the|my|your|our) ")
_TO_VERB = re.compile(r"\b(?:go|goes|going|went|gone|get|gets|getting|got|travel|travelled|traveled|move|moved|"
    r"drive|drove|fly|flew|walk|walked|come|came|"
                      r"head|headed|been|back|arrive)(?: \w+ly)? $")  # fmt: skip
_NEW_SENTENCE = re.compile(r"(?:^|[.!?]\s+|\n\s*)$")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `query[start:end]` by `text`; the span may extend beyond its reference (it's → X is)."""

    start: int
    end: int
    text: str


def writes_spaces(texts: Iterable[str]) -> bool:
    """Whether the user puts a space between Latin names and Han text; true without evidence."""
    spaced = unspaced = 0
    for text in texts:
        spaced += len(_SPACED.findall(text))
        unspaced += len(_UNSPACED.findall(text))
    return spaced >= unspaced


def _is_latin(character: str) -> bool:
    """Whether a character belongs to a Latin word or number, for the space between it and Han text."""
    return bool(_NAMEABLE.match(character))


def _is_seam(left: str, right: str) -> bool:
    """Whether a Latin and a Han character stand side by side."""
    return (_is_latin(left) and is_han(right)) or (is_han(left) and _is_latin(right))


def concatenate(pieces: Iterable[str], *, spaces: bool) -> str:
    """Concatenates pieces of a sentence, with a space where Latin meets Han if the user writes one."""
    text = ""
    for piece in filter(None, pieces):
        text += f" {piece}" if text and spaces and _is_seam(text[-1], piece[0]) else piece
    return text


def _possessive(text: str) -> str:
    """English only: Alex's, James's, the dogs'."""
    plural = re.search(r"(?:^|\s)(?:the|my|your|our)\s.*[^s]s$", text)
    return f"{text}'" if plural else f"{text}'s"


def _capitalised(query: str, reference: Reference, text: str) -> str:
    """The text, capitalised if it is a description at the head of a sentence."""
    if _NEW_SENTENCE.search(query[: reference.start]) and reference.text[:1].isupper() and _DEFINITE.match(text):
        return text[0].upper() + text[1:]
    return text


def _expand_contraction(query: str, reference: Reference, number: Number, text: str) -> tuple[int, str]:
    """Writes out a contraction after the reference (it's → X is, they're → X and Y are): end of the span, text."""
    match = _CONTRACTION.match(fold_lower(query), reference.end)
    if not match:
        return reference.end, text
    rest = fold_lower(query)[match.end() :]
    many = number is Number.PLURAL
    has = "have" if many else "has"
    words = {
        "s": has if _PARTICIPLE.match(rest) and re.match(r" (?:been|got|had|become|gone)\b", rest) else "is",
        "re": "are" if many else "is",
        "ve": has,
        "ll": "will",
        "d": "had" if re.match(r" (?:been|better)\b", rest) else "would",
    }
    return match.end(), f"{text} {words[match['tail']]}"


def _with_spaces(query: str, start: int, end: int, text: str, spaces: bool) -> str:
    """The text with spaces where Latin meets Han at its ends, if the user writes them."""
    before, after = query[start - 1 : start] if start else "", query[end : end + 1]
    if before and text and _is_seam(before, text[0]) and spaces:
        text = " " + text
    if after and text and (_is_seam(text[-1], after)) and spaces:
        text += " "
    return text


def edit_for(
    query: str, reference: Reference, text: str, *, number: Number = Number.SINGULAR, spaces: bool = True
) -> Edit:
    """The edit that replaces a reference by its antecedent, in a grammatical form.

    Args:
        query: The original query.
        reference: Its offsets are into `query`.
        text: The antecedent; keeps its own script.
        number: Number of the antecedent, for the verb of a contraction.
        spaces: Whether the user writes spaces between Latin and Han.
    """
    if reference.kind is Kind.ELLIPSIS and reference.form is Form.POSSESSIVE:
        return _with_owner(query, reference, text, spaces)
    if reference.chinese:
        end = reference.end
        if reference.form is Form.POSSESSIVE:
            text = f"{text}{' ' if spaces and _is_latin(text[-1]) else ''}的"
        return Edit(reference.start, end, _with_spaces(query, reference.start, end, text, spaces))
    text = _capitalised(query, reference, text)
    if reference.form is Form.POSSESSIVE:
        written = f"{text}的" if has_han(text) and _han_around(query, reference) else _possessive(text)
        return Edit(reference.start, reference.end, written)
    if reference.form is Form.LOCATIVE:
        toward = _TO_VERB.search(fold_lower(query)[: reference.start])
        return Edit(reference.start, reference.end, f"{'to' if toward else 'in'} {text}")
    if reference.kind is Kind.TIME:
        return Edit(reference.start, reference.end, f"in {text}" if text[:1].isdigit() else f"during {text}")
    end, written = _expand_contraction(query, reference, number, text)
    return Edit(reference.start, end, written)


def fit_edit(query: str, start: int, end: int, text: str, *, spaces: bool = True) -> Edit:
    """The edit that replaces `query[start:end]` by `text`, adding only spaces at its ends.

    Args:
        query: The original query.
        start: Start of the replaced span.
        end: Its end, exclusive; equal to `start` for an insertion.
        text: The new text; empty for a deletion.
        spaces: Whether the user writes spaces between Latin and Han.
    """
    text = text.strip()
    before, after = query[start - 1 : start] if start else "", query[end : end + 1]
    if not text:
        return Edit(start, end + 1 if after == " " and before in ("", " ") else end, "")
    text = _with_spaces(query, start, end, text, spaces)
    if before and _is_latin(before) and _is_latin(text[0]):
        text = f" {text}"
    if after and _is_latin(after) and _is_latin(text[-1]):
        text = f"{text} "
    return Edit(start, end, text)


def _with_owner(query: str, reference: Reference, owner: str, spaces: bool) -> Edit:
    """The edit that adds the owner to an attribute: 價格 → X 的價格, the battery → X's battery."""
    if not reference.chinese:
        attribute = re.sub(r"^the ", "", reference.text, flags=re.IGNORECASE)
        return Edit(reference.start, reference.end, f"{_possessive(_capitalised(query, reference, owner))} {attribute}")
    written = f"{owner}{' ' if spaces and _is_latin(owner[-1]) else ''}的{reference.text}"
    return Edit(reference.start, reference.end, _with_spaces(query, reference.start, reference.end, written, spaces))


def _han_around(query: str, reference: Reference) -> bool:
    return has_han(query[: reference.start]) or has_han(query[reference.end :])


def apply_edits(query: str, edits: Sequence[Edit]) -> str:
    """The query with all edits made; their spans do not overlap."""
    for change in sorted(edits, key=lambda change: change.start, reverse=True):
        query = query[: change.start] + change.text + query[change.end :]
    return query
