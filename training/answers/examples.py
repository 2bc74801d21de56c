"""Training examples of the answer reader: a row as the network reads it, with its labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory.ports.models.answer_reading import AnswerReadRequest
from models.answers.features import AnswerFeatureReader, AnswerFeatures
from models.answers.inference import MAX_SPAN
from models.body.edit_units import EditUnit

from ..corpora.questions import REPLACING, UPDATE, Words
from .marked_requests import Kind, MarkedRequest


@dataclass(frozen=True, slots=True)
class LabelledRequest:
    """A question with the lines that are shown, and what is known of them by their numbers in the request.

    Attributes:
        request: What is read.
        kind: Of the question.
        gold: Lines that answer.
        words: See `corpus.MarkedQuestion.words`.
        outdated: Lines known to be out of date.
    """

    request: AnswerReadRequest
    kind: str
    gold: tuple[int, ...]
    words: Mapping[int, Words]
    outdated: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerExample:
    """A row with its labels, by the place of each line in the row.

    Attributes:
        features: What the network reads.
        gold: Lines that answer; none where nothing does.
        words: First and last unit of the words that answer, counted from 1; 0 and 0 for none.
        outdated: For each line of which it is known whether it is out of date.
        kind: What a message that is no question does to the lines; None for a question.
        marks: What of it is known of each line, see `MarkedRequest`; empty for a question.
    """

    features: AnswerFeatures
    gold: tuple[int, ...] = ()
    words: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    outdated: Mapping[int, bool] = field(default_factory=dict)
    kind: Kind | None = None
    marks: tuple[float, ...] = ()

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return self.features.token_count


def answer_example(row: LabelledRequest, reader: AnswerFeatureReader) -> AnswerExample:
    """The example of a question; words that were cut off, or are longer than the network finds, are not labelled."""
    features = reader.read(row.request)
    place_of = {line: place for place, line in enumerate(features.order)}
    words = {}
    for line, span in row.words.items():
        if (units := unit_span(features.units[place_of[line]], span)) is not None:
            words[place_of[line]] = units
    known = dict.fromkeys(row.gold, False)
    if row.kind not in REPLACING or (row.kind == UPDATE and row.outdated):
        known = dict.fromkeys(range(len(row.request.lines)), False)
    known |= dict.fromkeys(row.outdated, True)
    return AnswerExample(
        features,
        tuple(sorted(place_of[line] for line in row.gold)),
        words,
        {place_of[line]: value for line, value in known.items()},
    )


def marked_example(row: MarkedRequest, reader: AnswerFeatureReader) -> AnswerExample:
    """The example of a message that does something to earlier lines."""
    features = reader.read(row.request)
    return AnswerExample(features, kind=row.kind, marks=tuple(row.marks[line] for line in features.order))


def unit_span(units: Sequence[EditUnit], words: Words) -> tuple[int, int] | None:
    """First and last unit of words, counted from 1; (0, 0) for no words, None where they are not among the units."""
    start, end = words
    if start == end:
        return 0, 0
    inside = [number for number, unit in enumerate(units, 1) if unit.start < end and unit.end > start]
    if not inside or units[inside[-1] - 1].end < end or inside[-1] - inside[0] >= MAX_SPAN:
        return None
    return inside[0], inside[-1]
