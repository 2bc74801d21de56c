"""Turns scores into spans.

Names that overlap: the one with the higher probability stays, so nothing is nested. A label's finer name is the most
probable finer label of the same subtype on the same span, where that is more probable than not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from memory.values.mentions import EntitySubtype

from .features import Window
from .labels import FINE_LABELS, LABELS, SUBTYPES

_FINE = [
    [number for number, label in enumerate(LABELS) if FINE_LABELS.get(label) is subtype] for subtype in SUBTYPES
]  # of each subtype


@dataclass(frozen=True, slots=True)
class TaggedSpan:
    """A name in a text.

    Attributes:
        start: Code-point offset of its first character.
        end: Offset behind its last character.
        subtype: What it names; None for a label that no memory keeps.
        label: The finest label that is more probable than not.
        score: Probability, 0 to 1.
    """

    start: int
    end: int
    subtype: EntitySubtype | None
    label: str
    score: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    first: int
    last: int
    label: int
    score: float


def decode_names(scores: Tensor, window: Window, thresholds: Mapping[EntitySubtype, float]) -> list[TaggedSpan]:
    """The names of a window by subtype, in text order.

    Args:
        scores: Shape (units, span, labels), of that window.
        window: What was read.
        thresholds: Least probability of each subtype.
    """
    coarse = scores[..., : len(SUBTYPES)].sigmoid()
    least = torch.tensor([thresholds[subtype] for subtype in SUBTYPES], device=scores.device)
    spans = []
    for one in _winners(_candidates(coarse, least)):
        subtype = SUBTYPES[one.label]
        label = subtype.value
        if fine := _FINE[one.label]:
            value, best = scores[one.first, one.last - one.first, fine].max(0)
            if value > 0:
                label = LABELS[fine[int(best)]]
        spans.append(
            TaggedSpan(window.units[one.first].start, window.units[one.last].end, subtype, label, one.score)
        )  # fmt: skip
    return spans


def decode_labels(scores: Tensor, window: Window, labels: Sequence[int]) -> list[TaggedSpan]:
    """The spans of a window under the labels of one source, in text order.

    Args:
        scores: Shape (units, span, labels), of that window.
        window: What was read.
        labels: Numbers of the source's labels.
    """
    chosen = scores[..., list(labels)].sigmoid()
    least = torch.full((len(labels),), 0.5, device=scores.device)
    spans = []
    for one in _winners(_candidates(chosen, least)):
        label = LABELS[labels[one.label]]
        start, end = window.units[one.first].start, window.units[one.last].end
        subtype = FINE_LABELS[label] if label in FINE_LABELS else EntitySubtype(label)
        spans.append(TaggedSpan(start, end, subtype, label, one.score))
    return spans


def _candidates(probabilities: Tensor, least: Tensor) -> list[_Candidate]:
    found = (probabilities > least).nonzero()
    values = probabilities[found[:, 0], found[:, 1], found[:, 2]].tolist()
    return [
        _Candidate(first, first + width, label, score)
        for (first, width, label), score in zip(found.tolist(), values, strict=True)
    ]


def _winners(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    taken: set[int] = set()
    winners = []
    for one in sorted(candidates, key=lambda one: (-one.score, one.first, one.last, one.label)):
        units = range(one.first, one.last + 1)
        if taken.isdisjoint(units):
            taken.update(units)
            winners.append(one)
    return sorted(winners, key=lambda one: one.first)
