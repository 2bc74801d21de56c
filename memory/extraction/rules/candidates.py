"""Candidates for mentions, and the choice between overlapping candidates."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from ...values.mentions import EntitySubtype, MentionLevel


class Layer(IntEnum):
    """The kind of rule that found a candidate; where candidates overlap, the smaller value wins."""

    NAME = 0
    """A known name: the user's own, or one of the preloaded seeds."""
    QUOTED = 1
    CODE = 2
    DEIXIS = 3
    TAGGED = 4
    """Found by the trained tagger."""
    LATIN = 5
    HAN = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that a rule proposes, with half-open offsets; the other fields are those of `Mention`."""

    start: int
    end: int
    layer: Layer
    source: str
    confidence: float
    subtype: EntitySubtype | None = None
    level: MentionLevel = MentionLevel.LONG_TERM


def resolve_overlaps(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Selects candidates that do not overlap, in text order.

    Candidates are taken in this order: smaller layer, longer span, higher confidence, smaller offset. A candidate that
    overlaps one already taken is dropped whole: nothing is cut or nested. A winner without a subtype takes the subtype
    of a dropped candidate with exactly the same span.
    """
    ordered = sorted(
        candidates,
        key=lambda candidate: (
            candidate.layer,
            candidate.start - candidate.end,
            -candidate.confidence,
            candidate.start,
        ),
    )
    subtypes: dict[tuple[int, int], EntitySubtype] = {}
    for candidate in ordered:
        if candidate.subtype is not None:
            subtypes.setdefault((candidate.start, candidate.end), candidate.subtype)
    starts: list[int] = []
    taken: list[Candidate] = []
    for candidate in ordered:
        index = bisect_left(starts, candidate.start)
        if index < len(taken) and taken[index].start < candidate.end:
            continue
        if index and taken[index - 1].end > candidate.start:
            continue
        if candidate.subtype is None and candidate.level is MentionLevel.LONG_TERM:
            candidate = replace(candidate, subtype=subtypes.get((candidate.start, candidate.end)))
        starts.insert(index, candidate.start)
        taken.insert(index, candidate)
    return taken
