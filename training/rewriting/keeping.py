"""Chooses when a query is left as it is, and calibrates how sure a rewrite is."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from models.rewriter.decisions import KeepRule, logit
from models.rewriter.inference import Rewritten

from .data import RewritingRow
from .metrics import score_rewrites, units_of

Floats = npt.NDArray[np.float64]

_THRESHOLDS = [number / 50 for number in range(5, 46)]
_RIDGE = 1e-3  # keeps the fit finite where rows can be told apart perfectly
_STEPS = 30
_RESTORED = 0.5  # rewriting F1 from which an edit restores what was meant, though not in the annotator's very words


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well probabilities match observed frequencies.

    Attributes:
        error: Expected calibration error over ten equal bins, in percent.
        bins: (rows, mean probability, share that came true) of each tenth that is not empty, in percent.
    """

    error: float
    bins: tuple[tuple[int, float, float], ...]


def choose_rule(rows: Sequence[RewritingRow], rewrites: Sequence[Rewritten]) -> KeepRule:
    """Calibrates on tuning rows, then takes the threshold with the best sum of exact match and unchanged F1.

    The probability to keep is fitted on data sets in which some queries are complete: in the others nothing has to be
    decided. Data sets count as they are mixed in `rows`.
    """
    rule = _calibrated(rows, rewrites)
    targets = [units_of(row.target) for row in rows]
    complete = is_complete(rows)
    edited = np.array([units_of(rewrite.edited()) == target for rewrite, target in zip(rewrites, targets, strict=True)])

    def quality(threshold: float) -> float:
        is_kept = np.array([replace(rule, threshold=threshold).keeps(rewritten.rewrite) for rewritten in rewrites])
        exact = np.where(is_kept, complete, edited).mean()
        marked = is_kept.sum() + complete.sum()
        return float(exact + (2 * (is_kept & complete).sum() / marked if marked else 0.0))

    return replace(rule, threshold=max(_THRESHOLDS, key=quality))


def is_complete(rows: Sequence[RewritingRow]) -> npt.NDArray[np.bool_]:
    """Marks the queries that need no rewriting; shape (rows,)."""
    return np.array([units_of(row.query) == units_of(row.target) for row in rows], np.bool_)


def is_restored(rows: Sequence[RewritingRow], rewrites: Sequence[Rewritten]) -> npt.NDArray[np.bool_]:
    """Marks the rows whose edits restore the meaning, whether or not they are applied; shape (rows,)."""
    return np.array(
        [
            score_rewrites([row.query], [row.target], [rewritten.edited()]).value("F1") >= 100 * _RESTORED
            for row, rewritten in zip(rows, rewrites, strict=True)
        ],
        np.bool_,
    )


def edit_log_probability(rewritten: Rewritten) -> float:
    """Returns the log-probability of the least certain edit."""
    return min(rewritten.rewrite.edit_log_probabilities, default=0.0)


def reliability(probabilities: Sequence[float], came_true: npt.NDArray[np.bool_]) -> Reliability:
    """Compares probabilities with what came true."""
    predicted = np.array(probabilities, np.float64)
    tenth = np.minimum((predicted * 10).astype(int), 9)
    bins = []
    error = 0.0
    for number in range(10):
        in_bin = tenth == number
        if in_bin.any():
            mean, share = predicted[in_bin].mean(), came_true[in_bin].mean()
            error += abs(mean - share) * in_bin.mean()
            bins.append((int(in_bin.sum()), round(100 * float(mean), 1), round(100 * float(share), 1)))
    return Reliability(round(100 * float(error), 2), tuple(bins))


def deciding(rows: Sequence[RewritingRow]) -> Iterator[int]:
    """Numbers of the rows whose data set holds complete queries and others."""
    complete = is_complete(rows)
    kinds: defaultdict[str, set[bool]] = defaultdict(set)
    for row, whole in zip(rows, complete, strict=True):
        kinds[row.data_set].add(bool(whole))
    return (number for number, row in enumerate(rows) if len(kinds[row.data_set]) == 2)


def _calibrated(rows: Sequence[RewritingRow], rewrites: Sequence[Rewritten]) -> KeepRule:
    complete = is_complete(rows)
    decided = [number for number in deciding(rows) if rewrites[number].rewrite.edits]
    keep = _fit(decided, complete, lambda number: logit(rewrites[number].rewrite.keep_probability))
    edited = [number for number in range(len(rows)) if rewrites[number].rewrite.edits and not complete[number]]
    right = _fit(
        edited,
        is_restored(rows, rewrites),
        lambda number: logit(float(np.exp(edit_log_probability(rewrites[number])))),
    )
    rule = KeepRule()
    if keep is not None:
        rule = replace(rule, keep_logit=keep[0], keep_offset=keep[1])
    if right is not None:
        rule = replace(rule, right_logit=right[0], right_offset=right[1])
    return rule


def _fit(
    numbers: Sequence[int], truth: npt.NDArray[np.bool_], log_odds_of: Callable[[int], float]
) -> list[float] | None:
    """Weight and offset of a logistic regression on one number; None where all rows are alike."""
    labels = truth[list(numbers)].astype(np.float64)
    if not len(numbers) or labels.min() == labels.max():
        return None
    inputs = np.array([(log_odds_of(number), 1.0) for number in numbers])
    weights: Floats = np.zeros(2)
    for _ in range(_STEPS):  # Newton's method
        predicted = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (predicted - labels) + _RIDGE * weights
        curvature = (inputs * (predicted * (1 - predicted))[:, None]).T @ inputs + _RIDGE * np.eye(2)
        weights = weights - np.linalg.solve(curvature, slope)
    return [round(float(weight), 4) for weight in weights]
