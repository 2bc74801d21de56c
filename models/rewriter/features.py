"""Network inputs: the token ids of a query in its conversation, and the tokens of each unit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..body.edit_units import EditUnit, EditUnitTokenizer, split_edit_units
from ..body.token_rows import Indices, RowBuilder
from .edits import Source

MAX_CONTEXT_TOKENS = 192
MAX_QUERY_UNITS = 96
_FIRST_TURN_TOKENS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """One query, ready for the network.

    Attributes:
        query: The text.
        units: The first `MAX_QUERY_UNITS`; text after them is never edited.
        source: The context that was kept, and the function words.
        input_ids: Shape (tokens,).
        covers: Shape (tokens, 2): the piece that covers each token and its place in it (`edit_units.Cover`).
        query_start: Position of the first token of the query; the one before it separates it from the context.
        context_tokens: Shape (context units, 2), positions of the first and the last token of each.
        query_tokens: Shape (query units, 2), likewise.
    """

    query: str
    units: tuple[EditUnit, ...]
    source: Source
    input_ids: Indices
    covers: Indices
    query_start: int
    context_tokens: Indices
    query_tokens: Indices

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        return len(self.input_ids)


class FeatureReader:
    """Builds features.

    The first turn and the latest ones that fit are kept: the first names the topic, or holds the names from long-term
    memory.

    Args:
        tokenizer: Of the body.
        words: Function words that can be written without being in the context.
    """

    def __init__(self, tokenizer: EditUnitTokenizer, words: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._words = tuple(words)

    def read(self, turns: Sequence[str], query: str) -> Features:
        """Features of one query; `turns` are its context, oldest first."""
        tokenizer = self._tokenizer
        source = Source.of(self._fitting([turn for turn in turns if turn]), self._words)
        units = split_edit_units(query)[:MAX_QUERY_UNITS]
        row = RowBuilder(tokenizer)
        context = [np.empty((0, 2), np.int64)]
        for number, turn in enumerate(source.turns):
            units_of_turn = [unit for unit, of in zip(source.units, source.turn_of, strict=True) if of == number]
            ids, covers = tokenizer.ids(turn, units_of_turn), tokenizer.covers(turn, units_of_turn)
            context.append(row.add(ids, covers))
        query_start = len(row)
        places = row.add(tokenizer.ids(query, units), tokenizer.covers(query, units))
        return Features(
            query=query,
            units=tuple(units),
            source=source,
            input_ids=row.input_ids,
            covers=row.covers,
            query_start=query_start,
            context_tokens=np.concatenate(context),
            query_tokens=places,
        )

    def _fitting(self, turns: list[str]) -> list[str]:
        if not turns:
            return []
        left = MAX_CONTEXT_TOKENS
        head = self._cut(turns[0], min(left, _FIRST_TURN_TOKENS) if len(turns) > 1 else left)
        left -= self._length(head)
        kept: list[str] = []
        for turn in reversed(turns[1:]):
            if left <= 1:
                break
            turn = self._cut(turn, left)
            left -= self._length(turn)
            kept.append(turn)
        return [head, *reversed(kept)]

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
