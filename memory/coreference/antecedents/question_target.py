"""What a question asks for, which its references therefore do not mean: in "where is it?" `it` is no place.

"I parked the car in Hamburg. Where is it?" asks for a place such as Hamburg. So places, and mentions that only gave the
place or time of something else, rank behind what was mentioned with them or since; in "who is that?" named persons do.
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
        reference: Its offsets are into `text`. One that names its own type excludes nothing.
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
    """Whether a candidate is of the sort that a question asks for."""
    if target is QuestionTarget.PERSON:
        return candidate.named and candidate.person is not False
    if candidate.person:
        return False
    return candidate.located or (target is QuestionTarget.PLACE and candidate.subtype is EntitySubtype.PLACE)


def without_target(text: str, reference: Reference, ranked: Sequence[Ranked]) -> list[Ranked]:
    """The ranking without the candidates of the question's target that are no later than another candidate.

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
