"""Token rows of the reader (texts with separators), and padded batches of them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .edit_units import ALONE, Cover, EditUnitTokenizer

Indices = npt.NDArray[np.int64]


class TokenRow(Protocol):
    """A complete row."""

    @property
    def input_ids(self) -> Indices:
        """Shape (tokens,)."""
        ...

    @property
    def covers(self) -> Indices:
        """Shape (tokens, 2): the piece that contains each token, and the place in it (`edit_units.Cover`)."""
        ...


class RowBuilder:
    """Builds a row that begins with the start token.

    Args:
        tokenizer: Provides the special tokens.
    """

    def __init__(self, tokenizer: EditUnitTokenizer) -> None:
        self._separator_id = tokenizer.separator_id
        self._ids = [tokenizer.start_id]
        self._covers = [ALONE]

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: Iterable[Sequence[int]], covers: Iterable[Cover]) -> Indices:
        """Appends a text and its separator.

        Args:
            ids: Token ids of each unit.
            covers: Cover of each unit.

        Returns:
            Shape (units, 2): positions of the first and the last token of each unit.
        """
        places = []
        for unit, cover in zip(ids, covers, strict=True):
            places.append((len(self), len(self) + len(unit) - 1))
            self._ids += unit
            self._covers += [cover] * len(unit)
        self._ids.append(self._separator_id)
        self._covers.append(ALONE)
        return np.array(places, np.int64).reshape(-1, 2)

    @property
    def input_ids(self) -> Indices:
        """Shape (tokens,)."""
        return np.array(self._ids, np.int64)

    @property
    def covers(self) -> Indices:
        """Shape (tokens, 2)."""
        return np.array(self._covers, np.int64)


def padded(rows: Sequence[TokenRow], *, pad_id: int) -> dict[str, Indices]:
    """A batch of rows: `input_ids` and `attention_mask` (rows, tokens), `covers` (rows, tokens, 2).

    Args:
        rows: At least one.
        pad_id: Token id of padding.
    """
    shape = (len(rows), max(len(row.input_ids) for row in rows))
    input_ids, mask = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64)
    covers = np.zeros((*shape, 2), np.int64)
    for number, row in enumerate(rows):
        tokens = len(row.input_ids)
        input_ids[number, :tokens] = row.input_ids
        mask[number, :tokens] = 1
        covers[number, :tokens] = row.covers
    return {"input_ids": input_ids, "attention_mask": mask, "covers": covers}
