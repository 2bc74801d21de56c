"""Cuts one section: at a fixed length, or at the strongest boundaries that let the chunks fit."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from .boundaries import Boundaries, Level
from .sections import Section

_SHOWN_BOUNDARIES = tuple(level for level in Level if level < Level.CHARACTER)


class Cutter:
    """Finds the offsets at which the chunks of a section start.

    A chunk is what lies between two starts, after an overlap: characters from before its start, which it repeats.

    Args:
        chunk_size: The most characters of a chunk, with its overlap and the lead of its section.
        exact: The overlap has its full length, and does not begin at a boundary.
    """

    def __init__(self, section: Section, *, chunk_size: int, overlap: int, exact: bool = False) -> None:
        self.section = section
        self.boundaries = Boundaries(section)
        self.size = chunk_size - len(section.lead)
        self._text = section.text
        self._end = len(section.text.rstrip())
        self._overlap = 0 if section.lead else overlap
        self._exact = exact

    def fixed_starts(self) -> list[int]:
        """Starts at a fixed distance, moved only where a block stays whole or a shown character would be parted."""
        starts, start, begin = [0], 0, 0
        while (end := begin + self.size) < self._end:
            block = self.section.block_at(end)
            if block.whole and block.start < end < block.end:
                end = block.start if block.start > start else block.end
            elif not block.whole:
                shown = (offset for offset in range(end, start, -1) if not self.boundaries.parts_shown(offset))
                end = next(shown, end)
            starts.append(end)
            begin, start = self.overlap_start(end, start), end
        return starts

    def recursive_starts(self) -> list[int]:
        """Starts at the strongest boundaries: what fits into a chunk is not cut, and neighbours share one."""
        return self.packed(self.parts(0, len(self._text), Level.BLOCK))

    def fits(self, start: int, end: int) -> bool:
        """Whether a text fits into a chunk, after a full overlap where it has one."""
        room = self.size if start == 0 or self._starts_whole(start) else self.size - self._overlap
        return not self._longer(start, end, room)

    def parts(self, start: int, end: int, level: Level) -> Iterator[tuple[int, int]]:
        """A span as parts that fit, cut at a level and, where that is not enough, at weaker ones."""
        if self.fits(start, end):
            yield start, end
            return
        cuts = [start, *self.boundaries.between(level, start, end), end]
        for first, last in pairwise(cuts):
            if level is Level.ANY:
                yield first, last
            else:
                yield from self.parts(first, last, Level(level + 1))

    def packed(self, parts: Iterable[tuple[int, int]], start: int = 0) -> list[int]:
        """The starts of chunks, from `start` on, that each hold as many neighbouring parts as fit."""
        starts, begin = [start], max(0, start - self._overlap)
        for first, last in parts:
            if first > starts[-1] and self._longer(begin, last, self.size):
                begin = self.overlap_start(first, starts[-1])
                starts.append(first)
        return starts

    def overlap_start(self, start: int, previous: int) -> int:
        """Where the overlap of a chunk begins: at the strongest boundary that leaves half of it or more.

        Args:
            start: Where the chunk starts without its overlap.
            previous: Where the chunk before starts; the overlap does not reach behind it.
        """
        if not self._overlap or self._starts_whole(start):
            return start
        first = max(start - self._overlap, previous)
        block = self.section.block_at(first)
        if block.whole and block.start < first < block.end:
            first = min(start, next((later.start for later in self.section.blocks if later.start > first), start))
        if first == previous:
            return first
        half = start - self._overlap // 2
        for level in () if self._exact else _SHOWN_BOUNDARIES:
            if found := self.boundaries.between(level, first - 1, half + 1):
                return found[0]
        return next((offset for offset in range(first, start) if not self.boundaries.parts_shown(offset)), start)

    def _starts_whole(self, start: int) -> bool:
        block = self.section.block_at(start)
        return block.whole and block.start == start

    def _longer(self, start: int, end: int, room: int) -> bool:
        """Whether a text is longer than `room` without the white space at its end."""
        return end - start > room and bool(self._text[start + room : end].strip())
