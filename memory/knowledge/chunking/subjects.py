"""Cuts sections where their subject changes: where the similarity of neighbouring sentences falls."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pstdev

from ...ports.knowledge import SentenceSimilarity
from ...values.documents.knowledge import BlockKind
from .boundaries import Level
from .cutting import Cutter

_LEAST_SHARE = 5
"""A cut for the subject leaves at least this part of a chunk, one fifth, on both sides."""

Unit = tuple[int, int]


async def subject_starts(cutters: Sequence[Cutter], similarity: SentenceSimilarity) -> list[list[int]]:
    """The starts of chunks of each section, after one call for the sentences of all of them.

    A change of the subject is a valley of the similarities whose depth below the peaks on its sides is more than the
    mean of all depths by a standard deviation (after Hearst, TextTiling, 1997). What is longer than a chunk is cut at
    its lowest similarity.
    """
    units = [units_of(cutter) for cutter in cutters]
    texts = [
        cutter.section.text[start:end].strip()
        for cutter, of_section in zip(cutters, units, strict=True)
        for start, end in of_section
    ]
    cosines = await similarity.of_neighbours(texts) if len(texts) > 1 else []
    levels: list[list[float]] = []
    first = 0
    for of_section in units:
        levels.append(cosines[first : first + len(of_section) - 1])
        first += len(of_section)
    depths = [_depths(of_section) for of_section in levels]
    every = [depth for of_section in depths for depth in of_section]
    least = fmean(every) + pstdev(every) if every else 0.0
    return [
        _starts(cutter, of_section, lows, [depth > least for depth in falls])
        for cutter, of_section, lows, falls in zip(cutters, units, levels, depths, strict=True)
    ]


def units_of(cutter: Cutter) -> list[Unit]:
    """The sentences and lines of a section, and its blocks that stay whole, without gaps.

    A heading goes with what follows it.
    """
    section = cutter.section
    starts: set[int] = set()
    for level in (Level.BLOCK, Level.PARAGRAPH, Level.LINE, Level.SENTENCE):
        starts.update(cutter.boundaries.between(level, 0, len(section.text)))
    starts -= {block.start for heading, block in pairwise(section.blocks) if heading.kind is BlockKind.HEADING}
    offsets = [0, *sorted(starts), len(section.text)]
    return list(pairwise(offsets))


def _depths(similarities: Sequence[float]) -> list[float]:
    """How far each similarity lies below the next peaks on both sides, added."""
    return [_climb(similarities, place, -1) + _climb(similarities, place, 1) for place in range(len(similarities))]


def _climb(similarities: Sequence[float], place: int, step: int) -> float:
    peak = place
    while 0 <= peak + step < len(similarities) and similarities[peak + step] >= similarities[peak]:
        peak += step
    return similarities[peak] - similarities[place]


def _starts(cutter: Cutter, units: Sequence[Unit], similarities: Sequence[float], changes: Sequence[bool]) -> list[int]:
    """Cuts at changes of the subject, the lowest similarity first, and what does not fit wherever it is lowest."""
    starts: list[int] = []
    least = cutter.size // _LEAST_SHARE
    open_spans = [(0, len(units))]
    while open_spans:
        first, last = open_spans.pop()
        start, end = units[first][0], units[last - 1][1]
        fits = cutter.fits(start, end)
        inner = range(first + 1, last)
        places = [place for place in inner if units[place][0] - start >= least and end - units[place][0] >= least]
        if fits:
            places = [place for place in places if changes[place - 1]]
        if places or (not fits and inner):
            cut = min(places or inner, key=lambda place: similarities[place - 1])
            open_spans += [(cut, last), (first, cut)]
        elif fits:
            starts.append(start)
        else:
            starts += _starts_within(cutter, start, end)
    return starts


def _starts_within(cutter: Cutter, start: int, end: int) -> list[int]:
    """The starts of chunks of one sentence that is longer than a chunk."""
    return cutter.packed(cutter.parts(start, end, Level.CLAUSE), start)
