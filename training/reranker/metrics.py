"""Measures of a ranking and their intervals."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from memory.retrieval.fusion import min_max

from ..shared.metrics import Interval
from .pools import Pool

DEPTH = 10
_DRAWS = 2_000
_FEWEST_GROUPS = 10

Floats = npt.NDArray[np.float64]


def ndcg(ranked: Sequence[bool], gold: int) -> float:
    """nDCG@10 with gains of 0 and 1: `Σ gold_i / log2(i + 1)` over the first ten, divided by the best that could be.

    Args:
        ranked: Whether each hit is gold, best first.
        gold: Number of gold passages, found or not; at least 1.
    """
    gain = sum(1.0 / np.log2(place + 2) for place, is_gold in enumerate(ranked[:DEPTH]) if is_gold)
    best = sum(1.0 / np.log2(place + 2) for place in range(min(DEPTH, gold)))
    return float(gain / best)


def recall(ranked: Sequence[bool], gold: int, depth: int) -> float:
    """The share of the gold passages among the first hits."""
    return sum(ranked[:depth]) / gold


MEASURES: dict[str, Callable[[Sequence[bool], int], float]] = {
    "nDCG@10": ndcg,
    "R@1": lambda ranked, gold: recall(ranked, gold, 1),
    "R@10": lambda ranked, gold: recall(ranked, gold, DEPTH),
}


def reordered(pool: Pool, scores: Sequence[float], weight: float) -> list[bool]:
    """Returns the gold flags in the order that `memory.retrieval.reranking` gives the first candidates.

    Args:
        pool: The question.
        scores: Scores of its first candidates; the others keep their places after them.
        weight: Share of the score.
    """
    count = len(scores)
    spread = min_max(dict(enumerate(scores)))
    blended = [weight * spread[n] + (1.0 - weight) * pool.candidates[n].fused for n in range(count)]
    order = sorted(range(count), key=lambda n: -blended[n])
    return [pool.candidates[n].gold for n in (*order, *range(count, len(pool.candidates)))]


def perfect(pool: Pool, count: int) -> list[bool]:
    """Returns the gold flags in the best possible order of the first `count` candidates."""
    flags = [candidate.gold for candidate in pool.candidates]
    return [*sorted(flags[:count], reverse=True), *flags[count:]]


def interval(values: Sequence[float], groups: Sequence[str]) -> Interval:
    """Computes a mean and its bootstrap interval over whole groups (questions of one article are not independent).

    Args:
        values: A value for each question.
        groups: The group of each question.
    """
    names = sorted(set(groups))
    if len(names) < _FEWEST_GROUPS:  # of three conversations nothing can be drawn: questions it is, which is too narrow
        groups, names = [str(n) for n in range(len(values))], [str(n) for n in range(len(values))]
    place = {name: n for n, name in enumerate(names)}
    sums, counts = np.zeros(len(names)), np.zeros(len(names))
    for value, group in zip(values, groups, strict=True):
        sums[place[group]] += value
        counts[place[group]] += 1
    drawn = np.random.default_rng(0).integers(len(names), size=(_DRAWS, len(names)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(np.mean(values)), float(low), float(high))
