"""Turns scores into spans.

Of names that overlap the one with the higher probability stays, so nothing is nested. A name's label is the most
probable finer label of its subtype on the same span, where that is more probable than not, else the subtype.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from memory.values.understanding.mentions import EntitySubtype, TaggedSpan

from .features import Features
from .labels import FINE_LABELS, LABELS, SUBTYPES

_FINE = [[number for number, label in enumerate(LABELS) if FINE_LABELS.get(label) is subtype] for subtype in SUBTYPES]
"""Numbers of the finer labels of each subtype."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span of units, by first and last unit, with the number of its label and its probability."""

    first: int
    last: int
    label: int
    score: float

    def span(self, window: Features, label: str, subtype: EntitySubtype | None) -> TaggedSpan:
        """The candidate as code-point offsets into the text."""
        start, end = window.units[self.first].start, window.units[self.last].end
        return TaggedSpan(start=start, end=end, label=label, subtype=subtype, score=min(self.score, 1.0))


def decode_names(scores: Tensor, window: Features, thresholds: Mapping[EntitySubtype, float]) -> list[TaggedSpan]:
    """The names of a window by subtype, in text order.

    Args:
        scores: Shape (units, span, labels), of that window.
        window: Its units.
        thresholds: Least probability of each subtype.
    """
    coarse = scores[..., : len(SUBTYPES)].sigmoid()  # (units, span, subtypes)
    least = torch.tensor([thresholds[subtype] for subtype in SUBTYPES], device=scores.device)
    spans = []
    for candidate in best_candidates(coarse, least):
        subtype = SUBTYPES[candidate.label]
        label = subtype.value
        if fine := _FINE[candidate.label]:
            value, best = scores[candidate.first, candidate.last - candidate.first, fine].max(0)
            if value > 0:
                label = LABELS[fine[int(best)]]
        spans.append(candidate.span(window, label, subtype))
    return spans


def best_candidates(probabilities: Tensor, least: Tensor) -> list[Candidate]:
    """The most probable spans without overlaps, in text order.

    Args:
        probabilities: Shape (units, span, labels).
        least: Shape (labels,): a span counts above it.
    """
    places = (probabilities > least).nonzero()  # (candidates, 3)
    values = probabilities[places[:, 0], places[:, 1], places[:, 2]].tolist()
    candidates = [
        Candidate(first, first + width, label, score)
        for (first, width, label), score in zip(places.tolist(), values, strict=True)
    ]
    covered: set[int] = set()
    kept = []
    for candidate in sorted(candidates, key=lambda item: (-item.score, item.first, item.last, item.label)):
        units = range(candidate.first, candidate.last + 1)
        if covered.isdisjoint(units):
            covered.update(units)
            kept.append(candidate)
    return sorted(kept, key=lambda candidate: candidate.first)
