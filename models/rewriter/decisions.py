"""When a query is left as it is, and how sure an edit is: logistic functions of what the network says, fitted on tuning
rows (Platt scaling), so that a probability of 0.8 is right four times out of five.
"""

import math
from dataclasses import dataclass

from .decoding import Rewrite

_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class KeepRule:
    """When a query is left as it is, and how sure an edit is.

    The defaults leave the network's own probabilities as they are.

    Attributes:
        threshold: Keep from this probability on that the query needs no edit.
        keep_logit: Weight of the network's log-odds that it needs none; positive.
        keep_offset: What is added to it.
        right_logit: Weight of the network's log-odds of an edit.
        right_offset: What is added to it.
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
        """That the query needs no edit, 0 to 1."""
        return sigmoid(self.keep_logit * logit(rewrite.keep_probability) + self.keep_offset)

    @property
    def keep_from(self) -> float:
        """The network's own probability from which on a query is kept."""
        return sigmoid((logit(self.threshold) - self.keep_offset) / self.keep_logit)

    def right_probability(self, log_probability: float) -> float:
        """That an edit of this log-probability restores what was meant, given that the query needs one; 0 to 1."""
        return sigmoid(self.right_logit * logit(math.exp(log_probability)) + self.right_offset)


def logit(probability: float) -> float:
    """Log-odds, finite at both ends."""
    bounded = min(max(probability, _LEAST), 1.0 - _LEAST)
    return math.log(bounded / (1.0 - bounded))


def sigmoid(value: float) -> float:
    """Probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0 else math.exp(value) / (1.0 + math.exp(value))
