"""Training examples of the tagger: windows, the evidence about their spans, and the loss of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from memory.values.mentions import EntitySubtype
from models.tagger.features import Window, WindowReader
from models.tagger.inference import collate
from models.tagger.labels import LABELS, SUBTYPES, subtype_of
from models.tagger.network import TaggerNetwork, TaggerShape

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
class TaggerExample:
    """A window as the network reads it, with its labels.

    Attributes:
        window: What the network reads.
        evidence: Evidence of its source.
        is_told: Whether the network is told the source.
        right: (first unit, width - 1, label number) of every marked name.
        named: Shape (units,): whether a name with a subtype covers the unit, so that it is part of no other.
        unclear: Shape (units,): whether something covers it whose subtype is not known.
    """

    window: Window
    evidence: Evidence
    is_told: bool
    right: tuple[tuple[int, int, int], ...]
    named: Flags
    unclear: Flags

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return self.window.token_count


def make_examples(
    row: MarkedText, reader: WindowReader, evidence: Evidence, shape: TaggerShape, *, is_told: bool
) -> list[TaggerExample]:
    """Builds the examples of a row, one for each window.

    A name that does not begin and end with units, or is cut, or is longer than the network's spans, is left out and
    what it covers is unclear.
    """
    examples = []
    for window in reader.read(row.text):
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
        examples.append(TaggerExample(window, evidence, is_told, tuple(sorted(right)), named, unclear))
    return examples


def collate_tagging(examples: Sequence[TaggerExample], *, pad_id: int, shape: TaggerShape) -> dict[str, Tensor]:
    """Collates examples into a batch with the labels of its spans.

    Beside what `collate` gives: `right` (names, 4) lists row, first unit, width - 1 and label; `silence` (batch, units,
    span, labels) is the logarithm of what a span's not being marked weighs.
    """
    batch = collate(
        [example.window for example in examples],
        [example.evidence.number if example.is_told else 0 for example in examples],
        pad_id=pad_id,
    )
    units = batch["unit_tokens"].shape[1]
    subtypes = len(SUBTYPES)
    weights = np.log(np.maximum([example.evidence.weights for example in examples], _NOTHING))  # (batch, labels)
    silence = np.broadcast_to(weights[:, None, None], (len(examples), units, shape.span, shape.labels)).copy()
    for row, example in enumerate(examples):
        partly = np.flatnonzero(example.evidence.weights[:subtypes] < 1.0)
        inside = len(example.window.units)
        for flags, weight in ((example.named, 0.0), (example.unclear, np.log(_NOTHING))):
            spans, widths = np.nonzero(_touching(flags, shape.span))
            silence[row, :inside][spans[:, None], widths[:, None], partly] = weight
    right = [(row, *span) for row, example in enumerate(examples) for span in example.right]
    for row, first, width, label in right:
        silence[row, first, width, label] = np.log(_NOTHING)
    return batch | {
        "right": torch.from_numpy(np.array(right, np.int64).reshape(-1, 4)),
        "silence": torch.from_numpy(silence),
    }


def span_loss(network: TaggerNetwork, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """For each row and label: how far names are below 0 and other spans above it.

    After "Global Pointer" (Su 2021): log(1 + Σ exp(score of an unmarked span) · what its silence weighs) +
    log(1 + Σ exp(−score of a name)).

    Returns:
        Sums over the batch: `unmarked` and `marked`.
    """
    scores = network(batch)  # (batch, units, span, labels)
    rows, labels = scores.shape[0], scores.shape[3]
    unmarked = torch.nn.functional.softplus((scores + batch["silence"]).flatten(1, 2).logsumexp(1)).sum()
    row, first, width, label = batch["right"].unbind(1)
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
