"""F1 over spans, with its bootstrap interval over texts."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..rewriter.metrics import Interval

Key = tuple[int, int, str]
"""Start, end and label of a span; what is to be equal."""

_SEED = 20_260_101


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
        counts = [(len(one & other), len(one), len(other)) for one, other in zip(marked, found, strict=True)]
        return cls(np.array(counts, np.int64).reshape(-1, 3))

    @property
    def precision(self) -> float:
        """Of what was found, how much is right, in percent."""
        agree, _, found = self.counts.sum(0)
        return float(100.0 * agree / found) if found else 0.0

    @property
    def recall(self) -> float:
        """Of what is marked, how much was found, in percent."""
        agree, marked, _ = self.counts.sum(0)
        return float(100.0 * agree / marked) if marked else 0.0

    @property
    def f1(self) -> float:
        """Of all texts together, in percent."""
        return _f1(self.counts.sum(0))

    def interval(self, *, samples: int = 1000) -> Interval:
        """F1 with its 95 % bootstrap interval."""
        random = np.random.default_rng(_SEED)
        texts = len(self.counts)
        values = [_f1(self.counts[random.integers(0, texts, texts)].sum(0)) for _ in range(samples)]
        low, high = np.percentile(values, [2.5, 97.5])
        return Interval(self.f1, float(low), float(high))


def _f1(sums: npt.NDArray[np.int64]) -> float:
    agree, marked, found = sums
    return float(200.0 * agree / (marked + found)) if marked + found else 0.0
