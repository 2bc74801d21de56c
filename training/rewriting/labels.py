"""Derives the edits that turn a query into its rewrite: the labels that the head for edits learns.

Of all derivations the cheapest is taken (dynamic programming from the end). Opening an edit, each segment and each
deleted unit have a cost, so that few long copies win over many short ones and units of the query are kept.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from models.body.edit_units import split_edit_units
from models.reader.edits import Segment, Source

_OPEN_COST, _DELETE_COST, _COPY_COST, _WORD_COST, _LOST_COST = 1.0, 0.1, 1.0, 1.3, 6.0
_POSITION_COST = 1e-4  # breaks ties in favour of the leftmost edit


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest rewrite that the network can produce.

    Attributes:
        span: Most units of one copied span.
        deleted: Most query units that one edit deletes.
        segments: Most segments of one edit.
        edits: Most edits of one rewrite.
    """

    span: int = 24
    deleted: int = 12
    segments: int = 4
    edits: int = 4


@dataclass(frozen=True, slots=True)
class LabelledSegment:
    """A segment of the target with every place that it can be copied from.

    `places` is empty where neither the context nor the function words hold the segment (it is lost).
    """

    places: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class LabelledEdit:
    """Replaces the query units from `start` to `stop` (exclusive) by `segments`."""

    start: int
    stop: int
    segments: tuple[LabelledSegment, ...]


@dataclass(frozen=True, slots=True)
class Derivation:
    """The edits of one row; `exact` tells whether they produce the target, unit for unit, within the limits."""

    edits: tuple[LabelledEdit, ...]
    exact: bool


class _Mode(IntEnum):
    OUTSIDE = 0  # between edits
    CUT = 1  # inside an edit, deleting query units
    FILL = 2  # inside an edit, after its deletions, adding segments


@dataclass(slots=True)
class _Step:
    cost: float
    mode: _Mode  # after the step
    deleted: int = 0
    taken: int = 0  # target units of the added segment
    lost: bool = False
    kept: bool = False


def derive(query: str, target: str, source: Source, limits: Limits | None = None) -> Derivation:
    """Finds the cheapest edits that turn `query` into `target`."""
    limits = limits or Limits()
    query_keys = [unit.key for unit in split_edit_units(query)]
    target_keys = [unit.key for unit in split_edit_units(target)]
    matches = _Matches(target_keys, source, limits.span)
    table = _solve(query_keys, target_keys, matches)
    edits: list[LabelledEdit] = []
    exact = True
    query_at = target_at = start = 0
    mode = _Mode.OUTSIDE
    segments: list[LabelledSegment] = []
    while (step := table.get((mode, query_at, target_at))) is not None:
        if mode is _Mode.OUTSIDE and step.mode is _Mode.CUT:
            start, segments = query_at, []
        elif step.taken:
            segments.append(LabelledSegment(() if step.lost else matches.places(target_at, step.taken)))
            exact &= not step.lost
        if mode is _Mode.FILL and step.mode is _Mode.OUTSIDE:
            edits.append(LabelledEdit(start, query_at, tuple(segments)))
            exact &= len(segments) <= limits.segments and query_at - start <= limits.deleted
        query_at += step.deleted + step.kept
        target_at += step.taken + step.kept
        mode = step.mode
    return Derivation(tuple(edits), exact and len(edits) <= limits.edits)


def _solve(
    query_keys: Sequence[str], target_keys: Sequence[str], matches: "_Matches"
) -> dict[tuple[_Mode, int, int], _Step]:
    """Computes the cheapest step from every state (mode, position in the query, position in the target)."""
    table: dict[tuple[_Mode, int, int], _Step] = {}
    costs: dict[tuple[_Mode, int, int], float] = defaultdict(lambda: math.inf)
    end = len(query_keys), len(target_keys)
    costs[_Mode.OUTSIDE, *end] = 0.0
    for query_at in range(len(query_keys), -1, -1):
        for target_at in range(len(target_keys), -1, -1):
            same = (
                (query_at, target_at) != end
                and query_at < end[0]
                and target_at < end[1]
                and query_keys[query_at] == target_keys[target_at]
            )
            keep = costs[_Mode.OUTSIDE, query_at + 1, target_at + 1] if same else math.inf
            # FILL: add a segment, or end the edit, which is possible at the end and before a unit that is kept
            closing = 0.0 if (query_at, target_at) == end else keep
            best = _Step(closing, _Mode.OUTSIDE, kept=same)
            if target_at < end[1]:
                for length in range(matches.longest[target_at], 0, -1):
                    cost = _COPY_COST + costs[_Mode.FILL, query_at, target_at + length]
                    if cost < best.cost:
                        best = _Step(cost, _Mode.FILL, taken=length)
                if matches.longest[target_at] == 0:
                    is_word = matches.is_word(target_at)
                    cost = (_WORD_COST if is_word else _LOST_COST) + costs[_Mode.FILL, query_at, target_at + 1]
                    if cost < best.cost:
                        best = _Step(cost, _Mode.FILL, taken=1, lost=not is_word)
            table[_Mode.FILL, query_at, target_at] = best
            costs[_Mode.FILL, query_at, target_at] = best.cost
            # CUT: delete one more unit, or go on to the segments
            cut = _Step(best.cost, _Mode.FILL)
            if query_at < end[0] and _DELETE_COST + costs[_Mode.CUT, query_at + 1, target_at] < cut.cost:
                cut = _Step(_DELETE_COST + costs[_Mode.CUT, query_at + 1, target_at], _Mode.CUT, deleted=1)
            table[_Mode.CUT, query_at, target_at] = cut
            costs[_Mode.CUT, query_at, target_at] = cut.cost
            if (query_at, target_at) == end:
                continue
            # OUTSIDE: keep a unit, or open an edit
            opening = _OPEN_COST + _POSITION_COST * target_at + cut.cost
            outside = _Step(keep, _Mode.OUTSIDE, kept=True) if keep <= opening else _Step(opening, _Mode.CUT)
            table[_Mode.OUTSIDE, query_at, target_at] = outside
            costs[_Mode.OUTSIDE, query_at, target_at] = outside.cost
    return table


class _Matches:
    """Finds where parts of the target occur in the source (the context, then the function words)."""

    def __init__(self, target_keys: Sequence[str], source: Source, longest_span: int) -> None:
        self._target_keys = target_keys
        self._units = len(source.units)
        self._keys = [unit.key for unit in source.units]
        self._turn_of = source.turn_of
        self._words = {word: number for number, word in enumerate(source.words)}
        self._positions: defaultdict[str, list[int]] = defaultdict(list)
        for position, key in enumerate(self._keys):
            self._positions[key].append(position)
        self.longest = [
            max(
                (self._length(start, position, longest_span) for position in self._positions.get(key, ())),
                default=0,
            )
            for start, key in enumerate(target_keys)
        ]

    def is_word(self, start: int) -> bool:
        return self._target_keys[start] in self._words

    def places(self, start: int, length: int) -> tuple[Segment, ...]:
        copies = tuple(
            Segment(position, position + length)
            for position in self._positions.get(self._target_keys[start], ())
            if self._length(start, position, length) == length
        )
        if length == 1 and self.is_word(start):
            number = self._units + self._words[self._target_keys[start]]
            return (Segment(number, number + 1), *copies)
        return copies

    def _length(self, start: int, position: int, limit: int) -> int:
        length = 0
        while (
            length < limit
            and start + length < len(self._target_keys)
            and position + length < self._units
            and self._turn_of[position + length] == self._turn_of[position]
            and self._keys[position + length] == self._target_keys[start + length]
        ):
            length += 1
        return length
