"""Measures of query rewriting, over units: characters in Chinese, words and punctuation in English, case folded.

Sources: exact match, BLEU and ROUGE-L as usual; rewriting F1/F2/F3 after Pan et al. 2019 (Restoration-200K): n-grams
that hold at least one restored unit, one that the query lacks.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.body.edit_units import split_edit_units

from ..shared.metrics import Interval, bootstrap

Units = tuple[str, ...]
Floats = npt.NDArray[np.float64]
_MOST_GRAM = 4
_REWRITING_GRAMS = (1, 2, 3)


@dataclass(slots=True)
class RewritingScores:
    """Counts of every row, from which any measure and its interval follow.

    Attributes:
        columns: Name to an array of shape (rows,).
    """

    columns: dict[str, Floats] = field(default_factory=dict)

    def value(self, measure: str, rows: npt.NDArray[np.int64] | None = None) -> float:
        """A measure in percent, over all rows or a choice of them; `MEASURES` names them."""
        chosen = {
            name: float((column if rows is None else column[rows]).sum()) for name, column in self.columns.items()
        }
        return 100.0 * MEASURES[measure](chosen)

    def interval(self, measure: str, *, samples: int = 1000) -> Interval:
        """A measure with its interval."""
        rows = len(self.columns["rows"])
        return bootstrap(lambda drawn: self.value(measure, drawn), rows, value=self.value(measure), samples=samples)


def units_of(text: str) -> Units:
    """Splits a text into the units that outputs and targets are compared by."""
    return tuple(unit.key for unit in split_edit_units(text))


def score_rewrites(queries: Sequence[str], targets: Sequence[str], outputs: Sequence[str]) -> RewritingScores:
    """Compares each output with its target."""
    rows = [
        _score(units_of(query), units_of(target), units_of(output))
        for query, target, output in zip(queries, targets, outputs, strict=True)
    ]
    names = rows[0] if rows else {}
    return RewritingScores({name: np.array([row[name] for row in rows], np.float64) for name in names})


def _score(query: Units, target: Units, output: Units) -> dict[str, float]:
    row = {
        "rows": 1.0,
        "exact": float(output == target),
        "kept": float(output == query),
        "complete": float(target == query),
        "kept_complete": float(output == query == target),
        "exact_incomplete": float(output == target != query),
        "target_length": float(len(target)),
        "output_length": float(len(output)),
        "rouge": _rouge_l(target, output),
    }
    for size in range(1, _MOST_GRAM + 1):
        expected, predicted = _grams(target, size), _grams(output, size)
        row[f"match_{size}"] = float((expected & predicted).total())
        row[f"given_{size}"] = float(predicted.total())
    in_query = set(query)
    for size in _REWRITING_GRAMS:
        expected = _restored(_grams(target, size), in_query)
        predicted = _restored(_grams(output, size), in_query)
        row[f"restored_match_{size}"] = float((expected & predicted).total())
        row[f"restored_wanted_{size}"] = float(expected.total())
        row[f"restored_given_{size}"] = float(predicted.total())
    return row


def _grams(units: Units, size: int) -> Counter[Units]:
    return Counter(units[start : start + size] for start in range(len(units) - size + 1))


def _restored(grams: Counter[Units], in_query: set[str]) -> Counter[Units]:
    return Counter({gram: count for gram, count in grams.items() if not in_query.issuperset(gram)})


def _rouge_l(target: Units, output: Units) -> float:
    if not target or not output:
        return float(target == output)
    lengths = [0] * (len(output) + 1)
    for expected in target:
        diagonal = 0
        for position, predicted in enumerate(output, 1):
            above = lengths[position]
            lengths[position] = diagonal + 1 if expected == predicted else max(above, lengths[position - 1])
            diagonal = above
    return 2 * lengths[-1] / (len(target) + len(output))


def _bleu(order: int) -> Callable[[dict[str, float]], float]:
    def measure(sums: dict[str, float]) -> float:
        pairs = [(sums[f"match_{size}"], sums[f"given_{size}"]) for size in range(1, order + 1)]
        if any(not match or not given for match, given in pairs):
            return 0.0
        precision = math.exp(sum(math.log(match / given) for match, given in pairs) / order)
        return precision * math.exp(min(0.0, 1.0 - sums["target_length"] / sums["output_length"]))

    return measure


def _f1(match: float, expected: float, predicted: float) -> float:
    return 2 * match / (expected + predicted) if expected + predicted else 0.0


def _rewriting_f(size: int) -> Callable[[dict[str, float]], float]:
    return lambda sums: _f1(
        sums[f"restored_match_{size}"], sums[f"restored_wanted_{size}"], sums[f"restored_given_{size}"]
    )


def _share(part: str, whole: str) -> Callable[[dict[str, float]], float]:
    return lambda sums: sums[part] / sums[whole] if sums[whole] else 0.0


MEASURES: dict[str, Callable[[dict[str, float]], float]] = {
    "EM": _share("exact", "rows"),
    "BLEU-1": _bleu(1),
    "BLEU-2": _bleu(2),
    "BLEU-4": _bleu(4),
    "ROUGE-L": _share("rouge", "rows"),
    "F1": _rewriting_f(1),
    "F2": _rewriting_f(2),
    "F3": _rewriting_f(3),
    "unchanged P": _share("kept_complete", "kept"),
    "unchanged R": _share("kept_complete", "complete"),
    "unchanged F1": lambda sums: _f1(sums["kept_complete"], sums["complete"], sums["kept"]),
}
