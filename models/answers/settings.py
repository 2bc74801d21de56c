"""Settings in the answer reader's weight file."""

from ..assets.weight_files import WeightSettings
from ..body.calibration import Calibration
from .network import AnswerShape

COMPONENT = "answers"
"""The name of the answer reader in errors, logs and metrics, and of its weight file."""


class AnswerSettings(WeightSettings):
    """Settings in the answer reader's weight file.

    Attributes:
        shape: Of the network.
        unanswered: Calibration of the probability that no line answers.
        answers: Calibration of the probability that a line answers.
        outdated: Calibration of the probability that a line is out of date.
    """

    component = COMPONENT

    format: int = 1
    shape: AnswerShape
    unanswered: Calibration = Calibration()
    answers: Calibration = Calibration()
    outdated: Calibration = Calibration()
