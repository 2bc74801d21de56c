"""Calibrated probabilities: logistic functions of a network's log-odds, fitted on tuning rows (Platt scaling)."""

import math

from pydantic import Field

from memory.values.base import Value

_LEAST = 1e-6


class Calibration(Value):
    """A logistic function of log-odds; the default leaves a probability as it is."""

    weight: float = Field(default=1.0, gt=0)
    offset: float = 0.0

    def __call__(self, probability: float) -> float:
        """The calibrated probability."""
        return sigmoid(self.weight * logit(probability) + self.offset)

    def inverse(self, probability: float) -> float:
        """The network's own probability of a calibrated one."""
        return sigmoid((logit(probability) - self.offset) / self.weight)


def logit(probability: float) -> float:
    """Log-odds of a probability, bounded."""
    probability = min(max(probability, _LEAST), 1.0 - _LEAST)
    return math.log(probability / (1.0 - probability))


def sigmoid(value: float) -> float:
    """The probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-value)) if value >= 0 else math.exp(value) / (1.0 + math.exp(value))
