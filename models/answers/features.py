"""Network inputs: the lines in order of their dates, each after its date, then the question after today's.

The layout is that of the reader, whose body this one starts from: first what was said, then what is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.ports.models.answer_reading import AnswerReadRequest, DatedLine
from memory.values.understanding.dialogue import Role

from ..body.edit_units import Cover, EditUnit, EditUnitTokenizer, split_edit_units
from ..body.token_rows import Indices, RowBuilder

MAX_TOKENS = 512
"""Tokens of a row: the positions of the body."""
MAX_QUESTION_TOKENS = 96
_CHARACTERS_PER_TOKEN = 64
_MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
ROLES = tuple(Role)
AGES = 16
"""Number of age classes: today, and one for each doubling of the days since."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerFeatures:
    """A question with its lines, ready for the network.

    Attributes:
        request: What is read.
        order: For each line as it is read the number of the line in the request: from the oldest to the newest.
        units: Of each line as it is read, with offsets into its text; what was cut off has none.
        input_ids: Shape (tokens,).
        covers: Shape (tokens, 2): the piece that covers each token and its place in it (`edit_units.Cover`).
        question_start: Position of the first token that belongs to the question.
        line_tokens: Shape (lines, 2): first token of each line, its date included, and its separator.
        unit_tokens: For each line shape (units, 2): positions of the first and the last token of each unit.
        ranks: Shape (lines,): 0 for the newest.
        ages: Shape (lines,): age class of each line.
        roles: Shape (lines,): number of the role that said it.
    """

    request: AnswerReadRequest
    order: tuple[int, ...]
    units: tuple[tuple[EditUnit, ...], ...]
    input_ids: Indices
    covers: Indices
    question_start: int
    line_tokens: Indices
    unit_tokens: tuple[Indices, ...]
    ranks: Indices
    ages: Indices
    roles: Indices

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return len(self.input_ids)


class AnswerFeatureReader:
    """Builds features.

    Where the lines are too long together, the longest are cut at their ends until they fit; none is left out.

    Args:
        tokenizer: Of the body.
        max_tokens: Tokens of a row, at most.
    """

    def __init__(self, tokenizer: EditUnitTokenizer, *, max_tokens: int = MAX_TOKENS) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    def read(self, request: AnswerReadRequest) -> AnswerFeatures:
        """The row of a question with at least one line."""
        lines = request.lines
        order = sorted(range(len(lines)), key=lambda number: lines[number].said_at)
        asked = self._dated(request.question, request.now, MAX_QUESTION_TOKENS)
        read = [self._dated(lines[number].text, lines[number].said_at, self._max_tokens) for number in order]
        free = self._max_tokens - 2 - asked.length - len(read)  # the start, and a separator after each text
        most = even_length([text.length for text in read], free)
        row = RowBuilder(self._tokenizer)
        line_tokens, unit_tokens, units = [], [], []
        for text in read:
            start = len(row)
            cut = text.cut(most)
            unit_tokens.append(cut.add_to(row))
            line_tokens.append((start, len(row) - 1))
            units.append(tuple(cut.text.units))
        question_start = len(row)
        asked.add_to(row)
        return AnswerFeatures(
            request=request,
            order=tuple(order),
            units=tuple(units),
            input_ids=row.input_ids,
            covers=row.covers,
            question_start=question_start,
            line_tokens=np.array(line_tokens, np.int64).reshape(-1, 2),
            unit_tokens=tuple(unit_tokens),
            ranks=np.arange(len(order) - 1, -1, -1),
            ages=np.array([age_class(lines[number], request.now) for number in order], np.int64),
            roles=np.array([ROLES.index(lines[number].role) for number in order], np.int64),
        )

    def tokens_of(self, text: str) -> "Text":
        """The tokens of a text."""
        tokenizer, units = self._tokenizer, split_edit_units(text)
        return Text(units, tokenizer.ids(text, units), tokenizer.covers(text, units))

    def _dated(self, text: str, at: datetime, most: int) -> "_Dated":
        return _Dated(self.tokens_of(date_text(at)), self.tokens_of(text[: most * _CHARACTERS_PER_TOKEN])).cut(most)


@dataclass(frozen=True, slots=True)
class Text:
    """The units of a text, and the token ids and the cover of each."""

    units: Sequence[EditUnit]
    ids: Sequence[tuple[int, ...]]
    covers: Sequence[Cover]

    @property
    def length(self) -> int:
        """Tokens of the text."""
        return sum(map(len, self.ids))

    def cut(self, most: int) -> "Text":
        """The beginning of at most so many tokens."""
        if self.length <= most:
            return self
        kept = int(np.searchsorted(np.cumsum([len(unit) for unit in self.ids]), most, side="right"))
        return Text(self.units[:kept], self.ids[:kept], self.covers[:kept])


@dataclass(frozen=True, slots=True)
class _Dated:
    """A text after its date."""

    date: Text
    text: Text

    @property
    def length(self) -> int:
        return self.date.length + self.text.length

    def cut(self, most: int) -> "_Dated":
        """The date, and the beginning of the text: of at most so many tokens together."""
        date = self.date.cut(most)
        return _Dated(date, self.text.cut(most - date.length))

    def add_to(self, row: RowBuilder) -> Indices:
        """Appends both and a separator; returns the positions of the units of the text, shape (units, 2)."""
        places = row.add([*self.date.ids, *self.text.ids], [*self.date.covers, *self.text.covers])
        return places[len(self.date.ids) :]


def even_length(lengths: Sequence[int], free: int) -> int:
    """The greatest length to which texts can be cut so that together they have at most `free` tokens."""
    left = free
    for number, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - number)
        if length > share:
            return max(0, share)
        left -= length
    return max(lengths, default=0)


def date_text(at: datetime) -> str:
    """A date in words that the body knows in every language: `8 March 2026`."""
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def age_class(line: DatedLine, now: datetime) -> int:
    """0 on the same day, 1 after one day, and one more for each doubling; lines of the future count as today's."""
    return min(AGES - 1, max(0, (now - line.said_at).days).bit_length())
