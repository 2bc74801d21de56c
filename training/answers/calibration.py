"""Calibrates the answer reader's probabilities on tuning rows."""

from collections.abc import Sequence

from memory.ports.models.answer_reading import AnswerReading
from models.answers.settings import AnswerSettings

from ..shared.calibration import fit
from .examples import LabelledRequest


def tuned_settings(
    settings: AnswerSettings, rows: Sequence[LabelledRequest], readings: Sequence[AnswerReading]
) -> AnswerSettings:
    """The settings with calibrations fitted to tuning rows.

    Args:
        settings: Those of the network.
        rows: Questions of the tuning part.
        readings: What the network reads in them, not calibrated.
    """
    pairs = list(zip(rows, readings, strict=True))
    lines = [(line, number, row) for row, reading in pairs if row.gold for number, line in enumerate(reading.lines)]
    known = [(line, number in row.outdated) for line, number, row in lines if number in {*row.gold, *row.outdated}]
    return settings.model_copy(
        update={
            "unanswered": fit([reading.unanswered for reading in readings], [not row.gold for row in rows]),
            "answers": fit([line.answers for line, _, _ in lines], [number in row.gold for _, number, row in lines]),
            "outdated": fit([line.outdated for line, _ in known], [value for _, value in known]),
        }
    )
