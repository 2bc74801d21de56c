"""Chooses when a query is left as it is."""

from collections.abc import Sequence

import numpy as np

from models.rewriter.decoding import KeepRule
from models.rewriter.inference import Rewritten

from .rewriting_data import RewritingRow
from .rewriting_metrics import units_of

_THRESHOLDS = [number / 20 for number in range(1, 20)]
_TRUST = (0.0, 0.5, 1.0)


def choose_rule(rows: Sequence[RewritingRow], found: Sequence[Rewritten]) -> KeepRule:
    """The rule with the best sum of exact match and unchanged F1 on tuning rows.

    Data sets count as they are mixed in `rows`; a set that always needs a rewrite has no say in the second measure.
    """
    targets = [units_of(row.target) for row in rows]
    complete = np.array([units_of(row.query) == target for row, target in zip(rows, targets, strict=True)])
    edited = np.array([units_of(one.edited()) == target for one, target in zip(found, targets, strict=True)])

    def quality(rule: KeepRule) -> float:
        kept = np.array([rule.keeps(one.rewrite) for one in found])
        exact = np.where(kept, complete, edited).mean()
        marked = kept.sum() + complete.sum()
        return float(exact + (2 * (kept & complete).sum() / marked if marked else 0.0))

    return max((KeepRule(threshold, trust) for trust in _TRUST for threshold in _THRESHOLDS), key=quality)
