"""How a clause of a message tells something: about who says it or who is addressed, or only as a question."""

import re

from ..language.questions import asks_one_thing, is_tag, speaks_of_hearer, speaks_of_self
from ..values.understanding.readings import FactSpan, StatedFact

_BORDERS = re.compile(r"[。！？!?；;\n]|[，,、：:]|\.(?=\s|$)|\b(?:and|but|while)\b")
SENTENCE_END = re.compile(r"[。.!！?？;；\n]")
_UNIT = re.compile(r"[a-z0-9][\w'’-]*|[\u3400-\u9fff]", re.IGNORECASE)
_MOST_AFTER = 4
"""Han characters and Latin words that may follow in a question what it asks for; after more it is taken for granted."""


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


def is_asked(text: str, place: FactSpan) -> bool:
    """Whether a question asks for what stands at the place, and does not take it for granted.

    我住在高雄嗎 asks for 高雄; 阿土伯養的旺財可以搭高鐵嗎 takes 旺財 for granted.
    """
    if place.turn is not None:
        return False
    start, clause = clause_at(text, place.start)
    behind = text[start + len(clause) :]
    asks = asks_one_thing(clause + behind[:1]) or is_tag(behind)
    return asks and len(_UNIT.findall(clause[place.end - start :])) <= _MOST_AFTER
