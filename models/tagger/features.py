"""Network inputs: the token ids of a piece of text, and the tokens of each of its units."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..body.edit_units import EditUnit, EditUnitTokenizer, split_edit_units
from ..body.token_rows import Indices, RowBuilder

MAX_TOKENS = 256
"""Tokens of a window; the body reads up to 512, but training texts are shorter."""

_SENTENCE_ENDS = frozenset("。！？!?；;\n")
_CLAUSE_ENDS = frozenset("，,、：:")


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A text or a part of one, ready for the network.

    Attributes:
        units: At least one, with offsets into the whole text.
        input_ids: Shape (tokens,).
        covers: Shape (tokens, 2): the piece that covers each token and its place in it (`edit_units.Cover`).
        unit_tokens: Shape (units, 2): positions of the first and the last token of each.
    """

    units: tuple[EditUnit, ...]
    input_ids: Indices
    covers: Indices
    unit_tokens: Indices

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return len(self.input_ids)


class WindowReader:
    """Builds windows: a text longer than `MAX_TOKENS` is cut after a sentence, else a clause, else anywhere.

    Args:
        tokenizer: Of the body.
    """

    def __init__(self, tokenizer: EditUnitTokenizer) -> None:
        self._tokenizer = tokenizer

    def read(self, text: str) -> list[Window]:
        """The windows of a text in order; none for white space."""
        units = split_edit_units(text)
        pieces = self._tokenizer.ids(text, units)
        covers = self._tokenizer.covers(text, units)
        windows = []
        for start, stop in _cut(text, units, [len(ids) for ids in pieces], MAX_TOKENS - 2):
            row = RowBuilder(self._tokenizer)
            places = row.add(pieces[start:stop], covers[start:stop])
            windows.append(Window(tuple(units[start:stop]), row.input_ids, row.covers, places))
        return windows


def _cut(text: str, units: Sequence[EditUnit], sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(units):
        stop, left = start, most
        while stop < len(units) and sizes[stop] <= left:
            left -= sizes[stop]
            stop += 1
        if stop < len(units):
            stop = _end_of_clause(text, units, start, stop)
        yield start, stop
        start = stop


def _end_of_clause(text: str, units: Sequence[EditUnit], start: int, stop: int) -> int:
    for ends in (_SENTENCE_ENDS, _CLAUSE_ENDS):
        for at in range(stop, start + (stop - start) // 2, -1):
            # a line break is no unit: it lies between two
            if ends.intersection(text[units[at - 1].start : units[at].start]):
                return at
    return stop
