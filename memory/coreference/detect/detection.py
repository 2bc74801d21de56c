"""Finds the references of a text."""

import re
from functools import lru_cache

from ...values.text import fold_lower
from .chinese import chinese_references
from .english import english_references
from .references import Reference

_ASKS_TO_REMEMBER = re.compile(
    r"(?:记住|记得|记下|记着|记一下|别忘了?|不要忘了?)(?:这个|那个|这点|那点|这件事|那件事|这些|它)"
    r"|\b(?:remember|note|memorize|memorise|don't forget|do not forget|keep) (?:this|that|it|these)\b"
)
"""「記住這個」 asks to remember the message itself: its 這個 needs no antecedent (000 §3.2)."""


@lru_cache(maxsize=512)
def find_references(text: str) -> tuple[Reference, ...]:
    """The references of a text, in text order; of overlapping ones the longest is kept."""
    folded = fold_lower(text)
    asked = [match.span() for match in _ASKS_TO_REMEMBER.finditer(folded)]
    found = sorted(
        (*chinese_references(text, folded), *english_references(text, folded)),
        key=lambda reference: (reference.start - reference.end, reference.start),
    )
    taken: list[Reference] = []
    for reference in found:
        if any(start <= reference.start and reference.end <= end for start, end in asked):
            continue
        if all(reference.end <= other.start or other.end <= reference.start for other in taken):
            taken.append(reference)
    return tuple(sorted(taken, key=lambda reference: reference.start))
