"""Folding and cutting that keep offsets: what detection and noun phrases share."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ..values.text import is_han, to_simplified
from .han_cutting import cut_han

_NAMEABLE = re.compile(r"[A-Za-z0-9\u00c0-\u024f]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word with jieba's part of speech and its code-point offsets.

    `listed` says whether jieba's dictionary holds it; a noun that no dictionary holds is mostly somebody's name.
    """

    text: str
    tag: str
    start: int
    end: int
    listed: bool = True


def fold(text: str) -> str:
    """Simplified, lower case, straight apostrophes; one character for one, so that offsets stay."""
    folded = "".join(low if len(low := character.lower()) == 1 else character for character in to_simplified(text))
    return folded.replace("\u2019", "'")


@lru_cache(maxsize=512)
def cut(folded: str) -> tuple[Word, ...]:
    """Cuts folded text into words with jieba's tags; empty where there is no Chinese to cut."""
    words = []
    position = 0
    for text, tag, listed in cut_han(folded):
        end = position + len(text)
        words.append(Word(text, tag, position, end, listed))
        position = end
    return tuple(words)


def is_latin(character: str) -> bool:
    """Whether a character belongs to a Latin word or number, for the space between it and Han text."""
    return bool(_NAMEABLE.match(character))


def is_seam(left: str, right: str) -> bool:
    """Whether a Latin and a Han character stand side by side."""
    return (is_latin(left) and is_han(right)) or (is_han(left) and is_latin(right))


def set_side_by_side(pieces: Iterable[str], *, spaces: bool) -> str:
    """Pieces of a sentence in a row, with a space where Latin meets Han if the user writes one; none is changed."""
    text = ""
    for piece in filter(None, pieces):
        text += f" {piece}" if text and spaces and is_seam(text[-1], piece[0]) else piece
    return text
