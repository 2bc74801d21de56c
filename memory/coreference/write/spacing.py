"""The space that some writers set where Latin meets Han text."""

import re
from collections.abc import Iterable

from ...values.text import is_han

_NAMEABLE = re.compile(r"[A-Za-z0-9\u00c0-\u024f]")


def is_latin(character: str) -> bool:
    """Whether a character belongs to a Latin word or number, for the space between it and Han text."""
    return bool(_NAMEABLE.match(character))


def is_seam(left: str, right: str) -> bool:
    """Whether a Latin and a Han character stand side by side."""
    return (is_latin(left) and is_han(right)) or (is_han(left) and is_latin(right))


def concatenate(pieces: Iterable[str], *, spaces: bool) -> str:
    """Concatenates pieces of a sentence, with a space where Latin meets Han if the user writes one."""
    text = ""
    for piece in filter(None, pieces):
        text += f" {piece}" if text and spaces and is_seam(text[-1], piece[0]) else piece
    return text
