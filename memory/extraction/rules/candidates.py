"""Candidates for mentions, and which of them win where they overlap."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

from ...values.mentions import EntitySubtype, MentionLevel


class Layer(IntEnum):
    """What kind of rule found a candidate; the smaller value wins an overlap."""

    NAME = 0
    """A name given beforehand: the user's known names and the system's seeds."""
    QUOTED = 1
    CODE = 2
    DEIXIS = 3
    TAGGED = 4
    """What a trained tagger found."""
    LATIN = 5
    HAN = 6


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span that a rule proposes: half-open offsets, and the words of `Mention` for the rest."""

    start: int
    end: int
    layer: Layer
    source: str
    confidence: float
    subtype: EntitySubtype | None = None
    level: MentionLevel = MentionLevel.LONG_TERM


def resolve_overlaps(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Picks candidates that do not overlap, in text order.

    The rule: the stronger layer first, within a layer the longer span, then the more confident one, then the one
    further left; what overlaps a span already taken is dropped whole (nothing is cut or nested). A winner that does
    not know its subtype takes it from a dropped candidate over exactly the same span. Runs in O(n log n) searches.
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
        place = bisect_left(starts, candidate.start)
        if place < len(taken) and taken[place].start < candidate.end:
            continue
        if place and taken[place - 1].end > candidate.start:
            continue
        if candidate.subtype is None and candidate.level is MentionLevel.LONG_TERM:
            candidate = replace(candidate, subtype=subtypes.get((candidate.start, candidate.end)))
        starts.insert(place, candidate.start)
        taken.insert(place, candidate)
    return taken
