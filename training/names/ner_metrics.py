"""F1 over spans with its bootstrap interval, of a set's own task and of the subtypes that it marks."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.values.understanding.mentions import EntitySubtype, TaggedSpan
from models.reader.labels import subtype_of

from ..shared.metrics import Interval, bootstrap
from .ner_files import MarkedText
from .ner_sets import NerSet

Key = tuple[int, int, str]
"""Start, end and label of a span; equal keys are agreement."""


@dataclass(frozen=True, slots=True)
class SpanScores:
    """Counts of every text.

    Attributes:
        counts: Shape (texts, 3): spans that agree, that are marked, that were found.
    """

    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, marked: Sequence[Set[Key]], found: Sequence[Set[Key]]) -> "SpanScores":
        """Compares what was found in each text with what is marked."""
        counts = [
            (len(right & predicted), len(right), len(predicted)) for right, predicted in zip(marked, found, strict=True)
        ]
        return cls(np.array(counts, np.int64).reshape(-1, 3))

    @property
    def precision(self) -> float:
        """The correct share of the predicted spans, in percent."""
        agree, _, predicted = self.counts.sum(0)
        return float(100.0 * agree / predicted) if predicted else 0.0

    @property
    def recall(self) -> float:
        """The predicted share of the marked spans, in percent."""
        agree, marked, _ = self.counts.sum(0)
        return float(100.0 * agree / marked) if marked else 0.0

    @property
    def f1(self) -> float:
        """F1 over the spans of all texts, in percent."""
        return _f1(self.counts.sum(0))

    def interval(self, *, samples: int = 1000) -> Interval:
        """F1 with its 95 % bootstrap interval."""
        return bootstrap(lambda rows: _f1(self.counts[rows].sum(0)), len(self.counts), value=self.f1, samples=samples)


def marked_labels(rows: Iterable[MarkedText], data_set: NerSet) -> list[set[Key]]:
    """Collects the spans that each row marks, with the labels of the published task."""
    return [{(span.start, span.end, span.label) for span in row.spans if span.label in data_set.scored} for row in rows]


def score_labels(marked: Sequence[set[Key]], found: Sequence[Sequence[TaggedSpan]]) -> SpanScores:
    """F1 of the published task: offsets and label are equal."""
    return SpanScores.of(marked, [{(span.start, span.end, span.label) for span in spans} for spans in found])


def covered_subtypes(data_set: NerSet) -> frozenset[EntitySubtype]:
    """Subtypes of which the set marks some: those that its mapped score counts."""
    return frozenset(subtype for label in data_set.types.values() if (subtype := subtype_of(label)) is not None)


def marked_names(rows: Iterable[MarkedText], data_set: NerSet) -> list[set[Key]]:
    """Collects the spans that each row marks, with their subtypes."""
    covered = covered_subtypes(data_set)
    return [
        {
            (span.start, span.end, subtype.value)
            for span in row.spans
            if span.label and (subtype := subtype_of(span.label)) in covered and subtype is not None
        }
        for row in rows
    ]


def score_names(marked: Sequence[set[Key]], found: Sequence[Sequence[TaggedSpan]], data_set: NerSet) -> SpanScores:
    """F1 of the subtypes that the set marks: offsets and subtype are equal; other subtypes do not count."""
    covered = covered_subtypes(data_set)
    return SpanScores.of(
        marked,
        [
            {(span.start, span.end, span.subtype.value) for span in spans if span.subtype in covered and span.subtype}
            for spans in found
        ],
    )


def _f1(sums: npt.NDArray[np.int64]) -> float:
    agree, marked, predicted = sums
    return float(200.0 * agree / (marked + predicted)) if marked + predicted else 0.0
