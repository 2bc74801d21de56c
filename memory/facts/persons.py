"""Whom a clause is about by its person: who says it, or who is addressed."""

import re

from ..language.questions import speaks_of_hearer, speaks_of_self
from ..values.understanding.readings import StatedFact

_BORDERS = re.compile(r"[。！？!?；;\n]|[，,、：:]|\.(?=\s|$)|\b(?:and|but|while)\b")


def clause_at(text: str, place: int) -> tuple[int, str]:
    """The clause that holds a place: where it starts, and its words."""
    start = max((border.end() for border in _BORDERS.finditer(text, 0, place)), default=0)
    following = _BORDERS.search(text, max(place, start))
    return start, text[start : following.start() if following else len(text)]


def is_about_hearer(text: str, fact: StatedFact) -> bool:
    """Whether a fact without a subject is about who is addressed: 你住在台南 tells nothing about who says it."""
    if fact.subject is not None or fact.object.turn is not None:
        return False
    _, clause = clause_at(text, fact.object.start)
    return speaks_of_hearer(clause) and not speaks_of_self(clause)
