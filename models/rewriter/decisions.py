"""The rule for leaving a query as it is, and calibrated probabilities of its edits; the settings in the weight file.

The probabilities are logistic functions of the network's log-odds, fitted on tuning rows (Platt scaling), so that a
probability of 0.8 is right four times out of five.
"""

import math
from dataclasses import dataclass

from ..assets.weight_files import WeightSettings
from .decoding import Rewrite
from .network import RewriterShape

_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class KeepRule:
    """The threshold for leaving a query as it is, and the calibration of probabilities.

    The defaults leave the network's own probabilities as they are.

    Attributes:
        threshold: A query is left as it is from this probability on that it needs no edit.
        keep_logit: Weight of the network's log-odds that the query needs no edit; positive.
        keep_offset: Added to the weighted log-odds.
        right_logit: Weight of the network's log-odds of an edit.
        right_offset: Added to the weighted log-odds.
    """

    threshold: float = 0.5
    keep_logit: float = 1.0
    keep_offset: float = 0.0
    right_logit: float = 1.0
    right_offset: float = 0.0

    def __post_init__(self) -> None:
        if self.keep_logit <= 0:
            raise ValueError(f"keep_logit is {self.keep_logit}, and must be positive")

    def keeps(self, rewrite: Rewrite) -> bool:
        """Whether the query stays as it is."""
        return not rewrite.edits or self.keep_probability(rewrite) >= self.threshold

    def keep_probability(self, rewrite: Rewrite) -> float:
        """Probability that the query needs no edit."""
        return sigmoid(self.keep_logit * logit(rewrite.keep_probability) + self.keep_offset)

    @property
    def keep_from(self) -> float:
        """The network's own probability from which on a query is kept."""
        return sigmoid((logit(self.threshold) - self.keep_offset) / self.keep_logit)

    def right_probability(self, log_probability: float) -> float:
        """Probability that an edit restores what was meant, given its log-probability and that the query needs one."""
        return sigmoid(self.right_logit * logit(math.exp(log_probability)) + self.right_offset)


class RewriterSettings(WeightSettings):
    """Settings in the rewriter's weight file.

    Attributes:
        shape: Of the heads.
        words: Function words, in order.
        rule: When a query is left as it is.
    """

    component = "rewriter"

    format: int = 2
    shape: RewriterShape
    words: tuple[str, ...]
    rule: KeepRule


def logit(probability: float) -> float:
    """Log-odds, finite at both ends."""
    bounded = min(max(probability, _LEAST), 1.0 - _LEAST)
    return math.log(bounded / (1.0 - bounded))


def sigmoid(value: float) -> float:
    """Probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0 else math.exp(value) / (1.0 + math.exp(value))
