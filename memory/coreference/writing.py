"""Writes antecedents into a query with the spaces that its user writes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..values.text import is_han

_WORD = re.compile(r"[A-Za-z0-9\u00c0-\u024f]")
_SPACED = re.compile(r"[\u3400-\u9fff] +[A-Za-z0-9]|[A-Za-z0-9] +[\u3400-\u9fff]")
_UNSPACED = re.compile(r"[\u3400-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u3400-\u9fff]")
_OWNERS = frozenset({"", "'s", "’s", "'", "’", "的"})
_PREPOSITIONS = frozenset({"", "of", "for", "in", "at", "on", "from", "to", "with", "about", "by", "在", "從", "从"})


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `query[start:end]` by `text`."""

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


def fit_edit(query: str, start: int, end: int, text: str, *, spaces: bool) -> Edit:
    """The edit that replaces `query[start:end]` by `text`, with spaces at its ends where words would run together.

    Args:
        query: The original query.
        start: Start of the replaced span.
        end: Its end, exclusive; equal to `start` for an insertion.
        text: The new text; where it is empty, a space after the span goes with it.
        spaces: Whether the user writes spaces between Latin and Han.
    """
    text = text.strip()
    before, after = query[start - 1 : start] if start else "", query[end : end + 1]
    if not text:
        return Edit(start, end + 1 if after == " " and before in ("", " ") else end, "")
    if before and _needs_space(before, text[0], spaces=spaces):
        text = f" {text}"
    if after and _needs_space(text[-1], after, spaces=spaces):
        text = f"{text} "
    return Edit(start, end, text)


def name_in(written: str, antecedent: str) -> str:
    """The antecedent as a name, where no more than its owner's ending or a preposition is written around it."""
    before, found, after = written.strip().partition(antecedent)
    around = before.strip().lower(), after.strip()
    return antecedent if found and around[0] in _PREPOSITIONS and around[1] in _OWNERS else written.strip()


def concatenate(pieces: Iterable[str], *, spaces: bool) -> str:
    """Concatenates pieces of a sentence, with a space where Latin meets Han if the user writes one."""
    text = ""
    for piece in filter(None, pieces):
        text += f" {piece}" if text and spaces and _is_seam(text[-1], piece[0]) else piece
    return text


def apply_edits(query: str, edits: Sequence[Edit]) -> str:
    """The query with all edits made; their spans do not overlap."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        query = query[: edit.start] + edit.text + query[edit.end :]
    return query


def _needs_space(left: str, right: str, *, spaces: bool) -> bool:
    return bool(_WORD.match(left) and _WORD.match(right)) or (spaces and _is_seam(left, right))


def _is_seam(left: str, right: str) -> bool:
    """Whether a Latin and a Han character stand side by side."""
    return bool((_WORD.match(left) and is_han(right)) or (is_han(left) and _WORD.match(right)))
