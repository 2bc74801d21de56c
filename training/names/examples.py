"""Labels of names: the evidence about the spans of a window, and the loss of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from memory.values.understanding.mentions import EntitySubtype
from models.reader.features import Features
from models.reader.labels import LABELS, SUBTYPES, subtype_of
from models.reader.names_head import NamesShape
from models.reader.network import NO_SOURCE

from .ner_files import MarkedText
from .ner_sets import RARE

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
_NOTHING = np.float32(1e-30)  # a weight whose logarithm is a number
_LARGEST = 60.0  # the exponential of more does not fit
_NUMBER = {label: number for number, label in enumerate(LABELS)}


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The weight of an unmarked span as a negative example, for each label of a source.

    Attributes:
        number: Number of the source; `NO_SOURCE` for none.
        weights: Shape (labels,): 1 where every name of that label is marked, 0 where none is.
    """

    number: int
    weights: Floats

    @classmethod
    def of(cls, number: int, coverage: Mapping[EntitySubtype, float], labels: Sequence[str]) -> "Evidence":
        """Builds the evidence from the subtypes that a source covers and the labels that it marks.

        Args:
            number: Number of the source.
            coverage: Marked share of each subtype; `RARE` for those without an entry.
            labels: Those that the source marks: their absence is evidence.
        """
        weights = np.zeros(len(LABELS), np.float32)
        for at, subtype in enumerate(SUBTYPES):
            weights[at] = coverage.get(subtype, RARE)
        for label in labels:
            if _NUMBER[label] >= len(SUBTYPES):
                weights[_NUMBER[label]] = 1.0
        return cls(number, weights)


@dataclass(frozen=True, slots=True, eq=False)
class NameLabels:
    """The labels of the names of a window.

    Attributes:
        units: Number of units of the window.
        evidence: Evidence of its source.
        is_told: Whether the network is told the source.
        right: (first unit, width - 1, label number) of every marked name.
        named: Shape (units,): whether a name with a subtype covers the unit, so that it is part of no other.
        unclear: Shape (units,): whether something covers it whose subtype is not known.
    """

    units: int
    evidence: Evidence
    is_told: bool
    right: tuple[tuple[int, int, int], ...]
    named: Flags
    unclear: Flags

    @property
    def source(self) -> int:
        """The number of the source that the network is told."""
        return self.evidence.number if self.is_told else NO_SOURCE


def label_names(
    row: MarkedText, window: Features, evidence: Evidence, shape: NamesShape, *, is_told: bool
) -> NameLabels:
    """Labels the names of a row in one of its windows.

    A name that does not begin and end with units, or is cut, or is longer than the network's spans, is left out and
    what it covers is unclear.
    """
    starts = {unit.start: number for number, unit in enumerate(window.units)}
    ends = {unit.end: number for number, unit in enumerate(window.units)}
    named, unclear = np.zeros((2, len(window.units)), np.bool_)
    right: set[tuple[int, int, int]] = set()
    for span in row.spans:
        covered = [
            number for number, unit in enumerate(window.units) if unit.start < span.end and unit.end > span.start
        ]
        if not covered:
            continue
        first, last = starts.get(span.start), ends.get(span.end)
        subtype = subtype_of(span.label) if span.label else None
        if first is None or last is None or last - first >= shape.span or not span.label:
            unclear[covered] = True
            continue
        right.add((first, last - first, _NUMBER[span.label]))
        if subtype is None:
            unclear[covered] = True
        else:
            right.add((first, last - first, _NUMBER[subtype.value]))
            named[covered] = True
    return NameLabels(len(window.units), evidence, is_told, tuple(sorted(right)), named, unclear)


def collate_names(labels: Sequence[NameLabels], units: int, shape: NamesShape) -> dict[str, Tensor]:
    """The labels of a batch.

    Args:
        labels: Of each row.
        units: Units of the padded batch.
        shape: Of the head.

    Returns:
        `names_right` (names, 4) lists row, first unit, width - 1 and label; `names_silence` (rows, units, span, labels)
        is the logarithm of what a span's not being marked weighs.
    """
    subtypes = len(SUBTYPES)
    weights = np.log(np.maximum([row.evidence.weights for row in labels], _NOTHING))  # (rows, labels)
    silence = np.broadcast_to(weights[:, None, None], (len(labels), units, shape.span, shape.labels)).copy()
    for number, row in enumerate(labels):
        partly = np.flatnonzero(row.evidence.weights[:subtypes] < 1.0)
        for flags, weight in ((row.named, 0.0), (row.unclear, np.log(_NOTHING))):
            spans, widths = np.nonzero(_touching(flags, shape.span))
            silence[number, : row.units][spans[:, None], widths[:, None], partly] = weight
    right = [(number, *span) for number, row in enumerate(labels) for span in row.right]
    for number, first, width, label in right:
        silence[number, first, width, label] = np.log(_NOTHING)
    return {
        "names_right": torch.from_numpy(np.array(right, np.int64).reshape(-1, 4)),
        "names_silence": torch.from_numpy(silence),
    }


def span_loss(scores: Tensor, right: Tensor, silence: Tensor) -> dict[str, Tensor]:
    """For each row and label: how far names are below 0 and other spans above it.

    After "Global Pointer" (Su 2021): log(1 + Σ exp(score of an unmarked span) · what its silence weighs) +
    log(1 + Σ exp(−score of a name)).

    Args:
        scores: Shape (rows, units, span, labels).
        right: See `collate_names`.
        silence: Likewise.

    Returns:
        Sums over the batch: `unmarked` and `marked`.
    """
    rows, labels = scores.shape[0], scores.shape[3]
    unmarked = torch.nn.functional.softplus((scores + silence).flatten(1, 2).logsumexp(1)).sum()
    row, first, width, label = right.unbind(1)
    missing = (-scores[row, first, width, label]).clamp(max=_LARGEST).exp()
    sums = scores.new_zeros(rows * labels).index_add(0, row * labels + label, missing)
    return {"unmarked": unmarked, "marked": sums.log1p().sum()}


def _touching(flags: Flags, span: int) -> Flags:
    """Marks the spans (first unit, width) that contain a flagged unit; shape (units, span)."""
    count = len(flags)
    before = np.concatenate([[0], np.cumsum(flags)])
    behind = np.minimum(np.arange(count)[:, None] + np.arange(1, span + 1), count)
    touching: Flags = before[behind] > before[:count, None]
    return touching
