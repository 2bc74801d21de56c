"""Finds the references of a text, with exact offsets; what only looks like one is left alone."""

from functools import lru_cache

from .chinese import chinese_references
from .english import english_references
from .references import Reference
from .words import fold


@lru_cache(maxsize=512)
def find_references(text: str) -> tuple[Reference, ...]:
    """All references of a text, in text order, none overlapping; of two that overlap the longer stands."""
    folded = fold(text)
    found = sorted(
        (*chinese_references(text, folded), *english_references(text, folded)),
        key=lambda reference: (reference.start - reference.end, reference.start),
    )
    taken: list[Reference] = []
    for reference in found:
        if all(reference.end <= other.start or other.end <= reference.start for other in taken):
            taken.append(reference)
    return tuple(sorted(taken, key=lambda reference: reference.start))
