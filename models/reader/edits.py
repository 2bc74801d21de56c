"""The label space: a rewrite is a few edits of the query, each filled with copied context spans and function words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..body.edit_units import EditUnit, split_edit_units

_NO_SPACE_BEFORE = re.compile(r"['’.,;:!?%)\]}，。；：！？、）】」』]")
_NO_SPACE_AFTER = re.compile(r"[(\[{#$（【「『]")
_UNSPACED_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True, slots=True)
class Segment:
    """One copied span or one word.

    Attributes:
        start: Index of its first unit in `Source.units`; words are counted after the units.
        stop: Index after its last unit.
    """

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the query units `start` to `stop` (half open, empty for an insertion) by `segments`."""

    start: int
    stop: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The texts to copy from: context turns, oldest first, and a fixed list of function words.

    Attributes:
        turns: The texts.
        units: Of all turns in order; offsets are into the unit's own turn.
        turn_of: The turn of each unit; a span never crosses turns.
        words: Function words, which need not be in the context.
    """

    turns: tuple[str, ...]
    units: tuple[EditUnit, ...]
    turn_of: tuple[int, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, turns: Sequence[str], words: Sequence[str] = ()) -> "Source":
        """Splits turns into units."""
        split = [split_edit_units(turn) for turn in turns]
        return cls(
            turns=tuple(turns),
            units=tuple(unit for units in split for unit in units),
            turn_of=tuple(number for number, units in enumerate(split) for _ in units),
            words=tuple(words),
        )

    def key(self, segment: Segment) -> tuple[str, ...]:
        """The folded text of a segment: equal for spans that differ in case, width or script only."""
        if segment.start >= len(self.units):
            return (self.words[segment.start - len(self.units)],)
        return tuple(unit.key for unit in self.units[segment.start : segment.stop])

    def text(self, segment: Segment) -> str:
        """The text of a segment, as it is written in its turn."""
        if segment.start >= len(self.units):
            return self.words[segment.start - len(self.units)]
        first, last = self.units[segment.start], self.units[segment.stop - 1]
        return self.turns[self.turn_of[segment.start]][first.start : last.end]


def written(source: Source, segments: Sequence[Segment]) -> str:
    """The text of several segments."""
    text = ""
    for segment in segments:
        text = joined(text, source.text(segment))
    return text


def apply_edits(query: str, units: Sequence[EditUnit], source: Source, edits: Sequence[Edit]) -> str:
    """The query with all edits made; they are in order and do not touch."""
    text = ""
    position = 0  # of the first unit that is not copied yet
    for edit in edits:
        text = joined(text, _kept(query, units[position : edit.start]))
        text = joined(text, written(source, edit.segments))
        position = edit.stop
    return joined(text, _kept(query, units[position:]))


def joined(left: str, right: str) -> str:
    """Two texts side by side, a space between them where the script writes one."""
    if not left or not right:
        return left + right
    tight = (
        _UNSPACED_SCRIPT.match(left[-1])
        or _UNSPACED_SCRIPT.match(right[0])
        or _NO_SPACE_BEFORE.match(right[0])
        or _NO_SPACE_AFTER.match(left[-1])
    )
    return left + right if tight else f"{left} {right}"


def _kept(query: str, units: Sequence[EditUnit]) -> str:
    return query[units[0].start : units[-1].end] if units else ""
