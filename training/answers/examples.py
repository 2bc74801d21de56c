"""Training examples of the answer reader: a row as the network reads it, with its labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.ports.models.answer_reading import AnswerReadRequest
from models.answers.features import AnswerFeatureReader, AnswerFeatures
from models.answers.inference import MAX_SPAN
from models.body.edit_units import EditUnit

from ..corpora.questions import REPLACING, UPDATE, Words


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
    """

    features: AnswerFeatures
    gold: tuple[int, ...]
    words: Mapping[int, tuple[int, int]]
    outdated: Mapping[int, bool]

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


def unit_span(units: Sequence[EditUnit], words: Words) -> tuple[int, int] | None:
    """First and last unit of words, counted from 1; (0, 0) for no words, None where they are not among the units."""
    start, end = words
    if start == end:
        return 0, 0
    inside = [number for number, unit in enumerate(units, 1) if unit.start < end and unit.end > start]
    if not inside or units[inside[-1] - 1].end < end or inside[-1] - inside[0] >= MAX_SPAN:
        return None
    return inside[0], inside[-1]
