"""Intervals of measures, by bootstrap."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Interval:
    """A measure with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def bootstrap(
    measure: Callable[[npt.NDArray[np.int64]], float], rows: int, *, value: float, samples: int = 1000
) -> Interval:
    """Computes the bootstrap interval of a measure over rows.

    Args:
        measure: Computes the measure of the rows with the given numbers.
        rows: Number of rows.
        value: The measure of all rows.
        samples: Number of resamplings.
    """
    random = np.random.default_rng(_SEED)
    values = [measure(random.integers(0, rows, rows)) for _ in range(samples)]
    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(value, float(low), float(high))
