"""Calibrates probabilities on tuning rows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.body.calibration import Calibration, logit

Floats = npt.NDArray[np.float64]
_RIDGE = 1e-3  # keeps the fit finite where rows can be told apart perfectly
_STEPS = 30
_LEAST_STEP = 1e-6


def fit(probabilities: Sequence[float], came_true: Sequence[bool]) -> Calibration:
    """A logistic regression on the log-odds; the identity where all rows are alike."""
    labels = np.array(came_true, np.float64)
    if not len(labels) or labels.min() == labels.max():
        return Calibration()
    inputs = np.array([(logit(probability), 1.0) for probability in probabilities])

    def loss(weights: Floats) -> float:
        scores = inputs @ weights
        return float((np.logaddexp(0.0, scores) - labels * scores).sum() + 0.5 * _RIDGE * (weights**2).sum())

    weights: Floats = np.array([1.0, 0.0])
    for _ in range(_STEPS):  # Newton's method; a step that leads too far is halved
        predicted = 1.0 / (1.0 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (predicted - labels) + _RIDGE * weights
        curvature = (inputs * (predicted * (1 - predicted))[:, None]).T @ inputs + _RIDGE * np.eye(2)
        step: Floats = np.linalg.solve(curvature, slope)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > _LEAST_STEP:
            step = step / 2
        weights = weights - step
    return Calibration(weight=max(1e-3, round(float(weights[0]), 4)), offset=round(float(weights[1]), 4))
