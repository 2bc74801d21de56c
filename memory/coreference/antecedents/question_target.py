"""The target of a question, which no reference in it means: in "where is it?" `it` is no place.

"I parked the car in Hamburg. Where is it?" asks for Hamburg, or for something like it. So a place, and whatever has
only been said to say where or when something is, gives way to what was mentioned with it or since; in "who is that?" a
person of known name does.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from ...values.mentions import EntitySubtype
from ...values.text import fold_lower
from ..detect.references import Kind, Reference
from .candidates import Candidate
from .ranking import Ranked


class QuestionTarget(StrEnum):
    """The sort of thing that a question asks for."""

    PLACE = "place"
    TIME = "time"
    PERSON = "person"


_PLACE = re.compile(r"\bwhere\b|哪(?:里|儿|边)|什么地方|何处")
_TIME = re.compile(r"\bwhen (?:is|was|are|were|will|does|did)\b|\bwhat time\b|什么时候|几点|哪[一]?天|何时|几[月号]")
_WHO_IS = re.compile(r"\bwho(?: is|'s| was| are| were) $")
_IS_WHO = re.compile(r"(?:现在|还|就|到底|究竟)*(?:是(?:谁|哪位|什么人)|在谁(?:那里|那儿|那边|家|手[上里中]))")
_BY_SORT = frozenset({Kind.PERSONAL, Kind.DEMONSTRATIVE})


def asks_when(folded: str) -> bool:
    """Whether a folded question asks for a time."""
    return bool(_TIME.search(folded))


def question_target(text: str, reference: Reference) -> QuestionTarget | None:
    """What a question about a reference asks for; None where that excludes nothing.

    Args:
        text: The text that holds the reference.
        reference: Its offsets are into `text`. One that says of what type it is may be of that which is asked for.
    """
    if reference.kind not in _BY_SORT or reference.subtypes:
        return None
    folded = fold_lower(text)
    if _WHO_IS.search(folded[: reference.start]) or _IS_WHO.match(folded, reference.end):
        return QuestionTarget.PERSON
    if _PLACE.search(folded):
        return QuestionTarget.PLACE
    return QuestionTarget.TIME if asks_when(folded) else None


def is_target(target: QuestionTarget, candidate: Candidate) -> bool:
    """Whether a thing is of the sort that a question asks for."""
    if target is QuestionTarget.PERSON:
        return candidate.named and candidate.person is not False
    if candidate.person:
        return False
    return candidate.located or (target is QuestionTarget.PLACE and candidate.subtype is EntitySubtype.PLACE)


def without_target(text: str, reference: Reference, ranked: Sequence[Ranked]) -> list[Ranked]:
    """The ranking without what the question asks for, where something was mentioned with that or since.

    Args:
        text: The text that holds the reference.
        reference: Its offsets are into `text`.
        ranked: Best first.
    """
    target = question_target(text, reference)
    if target is None:
        return list(ranked)
    others = [option.candidate.distance for option in ranked if not is_target(target, option.candidate)]
    nearest = min(others, default=None)
    return [
        option
        for option in ranked
        if nearest is None or nearest > option.candidate.distance or not is_target(target, option.candidate)
    ]
