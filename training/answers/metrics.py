"""Measures of answer reading."""

from collections.abc import Iterable, Sequence

from memory.ports.models.answer_reading import AnswerReading
from memory.values.text import to_simplified

from .examples import LabelledRequest

UNANSWERED = 0.5
"""The calibrated probability from which on no line is taken to answer."""
_SAME_WORDS = 0.5


def is_right(row: LabelledRequest, reading: AnswerReading, *, threshold: float = UNANSWERED) -> bool:
    """Whether the likeliest line is one that answers, or rightly none is said to."""
    if not row.gold or reading.unanswered >= threshold:
        return not row.gold and reading.unanswered >= threshold
    return best_line(reading) in row.gold


def best_line(reading: AnswerReading) -> int:
    """The number of the likeliest line."""
    return max(range(len(reading.lines)), key=lambda number: reading.lines[number].answers)


def has_right_words(row: LabelledRequest, reading: AnswerReading) -> bool | None:
    """Whether the words of the likeliest line are mostly the right ones; None where they are not known."""
    best = best_line(reading)
    if best not in row.words:
        return None
    text, line = row.request.lines[best].text, reading.lines[best]
    start, end = row.words[best]
    if start == end or line.start == line.end:
        return start == end and line.start == line.end
    both = max(0, min(end, line.end) - max(start, line.start))
    wanted, found = to_simplified(text[start:end]), to_simplified(text[line.start : line.end])
    return (wanted in found and len(found) <= 2 * len(wanted)) or 2 * both / (
        end - start + line.end - line.start
    ) >= _SAME_WORDS


def scores(rows: Sequence[LabelledRequest], readings: Sequence[AnswerReading]) -> dict[str, float]:
    """Shares in percent: questions read right, of those with and without an answer; lines, words, outdated lines."""
    pairs = list(zip(rows, readings, strict=True))
    answerable = [pair for pair in pairs if pair[0].gold]
    words = [
        known
        for row, reading in answerable
        if is_right(row, reading) and (known := has_right_words(row, reading)) is not None
    ]
    replaced = [
        (line.outdated >= UNANSWERED) is (number in row.outdated)
        for row, reading in answerable
        if row.outdated
        for number, line in enumerate(reading.lines)
        if number in row.gold or number in row.outdated
    ]
    return {
        "answerable right": share(is_right(*pair) for pair in answerable),
        "unanswerable right": share(is_right(*pair) for pair in pairs if not pair[0].gold),
        "all right": share(is_right(*pair) for pair in pairs),
        "line right": share(best_line(reading) in row.gold for row, reading in answerable),
        "words right": share(words),
        "outdated right": share(replaced),
    }


def share(values: Iterable[bool]) -> float:
    """The share that holds, in percent, to a tenth; 0 of nothing."""
    listed = list(values)
    return round(100 * sum(listed) / len(listed), 1) if listed else 0.0
