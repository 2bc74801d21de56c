"""Network inputs: the token ids of a message after its conversation, and the tokens of each unit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memory.values.understanding.readings import ReadRequest

from ..body.edit_units import EditUnit, EditUnitTokenizer, split_edit_units
from ..body.token_rows import Indices, RowBuilder
from .edits import Source

MAX_CONTEXT_TOKENS = 224
MAX_TOKENS = 254
"""Tokens of a message in one window; a longer message is read in several."""
_FIRST_TURN_TOKENS = 32
_NAME_SEPARATOR = "、"
_SENTENCE_ENDS = frozenset("。！？!?；;\n")
_CLAUSE_ENDS = frozenset("，,、：:")


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """One window of a message, ready for the network.

    Attributes:
        text: The whole message.
        units: Of the window, with offsets into the message.
        source: The context that was kept, and the function words.
        turn_numbers: For each text of `source.turns` its number in the request; None for the names.
        input_ids: Shape (tokens,).
        covers: Shape (tokens, 2): the piece that covers each token and its place in it (`edit_units.Cover`).
        message_start: Position of the first token of the message; the one before it separates it from the context.
        context_tokens: Shape (context units, 2), positions of the first and the last token of each.
        unit_tokens: Shape (units, 2), likewise.
    """

    text: str
    units: tuple[EditUnit, ...]
    source: Source
    turn_numbers: tuple[int | None, ...]
    input_ids: Indices
    covers: Indices
    message_start: int
    context_tokens: Indices
    unit_tokens: Indices

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return len(self.input_ids)


class FeatureReader:
    """Builds features.

    The first window of a message is read after its context: the names of long-term memory or else the first turn, which
    names the topic, and the latest turns that fit. Further windows are read alone.

    Args:
        tokenizer: Of the body.
        words: Function words that can be written without being in the context.
    """

    def __init__(self, tokenizer: EditUnitTokenizer, words: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._words = tuple(words)

    def read(self, request: ReadRequest) -> list[Features]:
        """The windows of a message in order; one without units for white space."""
        text, tokenizer = request.text, self._tokenizer
        units = split_edit_units(text)
        ids, covers = tokenizer.ids(text, units), tokenizer.covers(text, units)
        source, numbers = self._context(request)
        windows = []
        for start, stop in _cut(text, units, [len(unit) for unit in ids]):
            row = RowBuilder(tokenizer)
            context = [np.empty((0, 2), np.int64)]
            for number, turn in enumerate(source.turns):
                units_of_turn = [unit for unit, of in zip(source.units, source.turn_of, strict=True) if of == number]
                context.append(row.add(tokenizer.ids(turn, units_of_turn), tokenizer.covers(turn, units_of_turn)))
            message_start = len(row)
            places = row.add(ids[start:stop], covers[start:stop])
            windows.append(
                Features(
                    text=text,
                    units=tuple(units[start:stop]),
                    source=source,
                    turn_numbers=numbers,
                    input_ids=row.input_ids,
                    covers=row.covers,
                    message_start=message_start,
                    context_tokens=np.concatenate(context),
                    unit_tokens=places,
                )
            )
            source, numbers = Source.of((), self._words), ()
        return windows

    def _context(self, request: ReadRequest) -> tuple[Source, tuple[int | None, ...]]:
        names, turns = request.context.names, request.context.turns
        numbered: list[tuple[int | None, str]] = [(None, joined_names(names))] if names else []
        numbered += [(number, turn) for number, turn in enumerate(turns) if turn]
        kept = self._fitting(numbered)
        return Source.of([turn for _, turn in kept], self._words), tuple(number for number, _ in kept)

    def _fitting(self, turns: list[tuple[int | None, str]]) -> list[tuple[int | None, str]]:
        if not turns:
            return []
        left = MAX_CONTEXT_TOKENS
        number, text = turns[0]
        head = self._cut(text, min(left, _FIRST_TURN_TOKENS) if len(turns) > 1 else left)
        left -= self._length(head)
        kept: list[tuple[int | None, str]] = []
        for turn_number, turn in reversed(turns[1:]):
            if left <= 1:
                break
            turn = self._cut(turn, left)
            left -= self._length(turn)
            kept.append((turn_number, turn))
        return [(number, head), *reversed(kept)]

    def _length(self, turn: str) -> int:
        return 1 + sum(map(len, self._tokenizer.ids(turn, split_edit_units(turn))))

    def _cut(self, turn: str, tokens: int) -> str:
        """The beginning of a turn, of at most so many tokens with its separator."""
        units = split_edit_units(turn)
        left = tokens - 1
        for number, pieces in enumerate(self._tokenizer.ids(turn, units)):
            left -= len(pieces)
            if left < 0:
                return turn[: units[number - 1].end] if number else ""
        return turn


def joined_names(names: Sequence[str]) -> str:
    """Names from long-term memory as one text: the network reads it as the first turn."""
    return _NAME_SEPARATOR.join(names)


def _cut(text: str, units: Sequence[EditUnit], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cuts a message into windows, after a sentence, else a clause, else anywhere."""
    start = 0
    while start < len(units) or start == 0:
        stop, left = start, MAX_TOKENS
        while stop < len(units) and sizes[stop] <= left:
            left -= sizes[stop]
            stop += 1
        if stop < len(units):
            stop = _end_of_clause(text, units, start, stop)
        yield start, stop
        start = max(stop, 1)


def _end_of_clause(text: str, units: Sequence[EditUnit], start: int, stop: int) -> int:
    for ends in (_SENTENCE_ENDS, _CLAUSE_ENDS):
        for at in range(stop, start + (stop - start) // 2, -1):
            # a line break is no unit: it lies between two
            if ends.intersection(text[units[at - 1].start : units[at].start]):
                return at
    return stop
