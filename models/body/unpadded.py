"""Batches without padding: layers compute rows of tokens, and only attention uses the boundaries of the texts.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from ..batching.engine import length_buckets

_GROUP_OVERHEAD = 5_000
"""Fixed cost of a group in attention, in squared tokens: about 80 µs on one core of a server CPU."""

_ROW_STEPS = 8
_LENGTH_STEPS = 4
_TEXT_STEPS = 2
"""How many numbers of rows, padded lengths and numbers of texts there are in each power of two. The matrix library
compiles code for each shape, half a MiB of it, and keeps that."""
_LEAST_STEP = 8
"""For rows and lengths: the code for fewer is no faster."""


@dataclass(frozen=True, slots=True)
class Padding:
    """The positions of tokens after padding, for texts of unequal length.

    Attributes:
        places: Shape (texts x length,): the row of each padded place, from the group's first; row 0 for padding.
        kept: Shape (rows,): the padded place of each row.
        is_token: Shape (texts, 1, 1, length), bool: False at padding.
        bias: Shape (texts, 1, length, length), bfloat16: added to the scores, minus infinity at padding.
    """

    places: Tensor
    kept: Tensor
    is_token: Tensor
    bias: Tensor


@dataclass(frozen=True, slots=True)
class Group:
    """Texts of similar length, whose attention is computed together.

    Attributes:
        rows: Their rows.
        texts: Number of texts, with those that are only there to make up a number.
        length: Their padded length.
        padding: None if there are as many texts, and all have that length.
    """

    rows: slice
    texts: int
    length: int
    padding: Padding | None


class Layout(Protocol):
    """The rows of the texts of a batch, end to end without padding."""

    @property
    def tokens(self) -> int:
        """The number of rows that belong to texts."""

    @property
    def rows(self) -> int:
        """The number of rows that are computed."""

    @property
    def groups(self) -> list[Group]:
        """The texts grouped by length, for attention with padding."""

    @property
    def starts(self) -> Tensor:
        """Shape (texts + 1,), int32: the first row of each text, and the end of the last."""

    @property
    def longest(self) -> int:
        """The largest number of tokens of a text."""

    def mean(self, states: Tensor) -> Tensor:
        """The mean over the rows of each text: (tokens, hidden) to (texts, hidden)."""


class Unpadded(Layout):
    """The rows of the texts of a batch, end to end without padding.

    Args:
        lengths: Number of tokens of each text, in the order of the rows; descending, so that like lengths are together.
        device: The device of the rows.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device | str = "cpu") -> None:
        self.lengths = lengths
        self._device = device

    @cached_property
    @override
    def tokens(self) -> int:
        return sum(self.lengths)

    @property
    @override
    def longest(self) -> int:
        return max(self.lengths)

    @property
    @override
    def rows(self) -> int:
        """Rows computed: the tokens, rounded up."""
        return _rounded(self.tokens, _ROW_STEPS, least=_LEAST_STEP)

    @cached_property
    @override
    def groups(self) -> list[Group]:
        groups: list[Group] = []
        first = 0
        for bucket in length_buckets([length * length for length in self.lengths], _GROUP_OVERHEAD):
            lengths = np.zeros(_rounded(len(bucket), _TEXT_STEPS), np.int64)
            lengths[: len(bucket)] = [self.lengths[index] for index in bucket]
            rows = slice(first, first + int(lengths.sum()))
            length = _rounded(int(lengths[0]), _LENGTH_STEPS, least=_LEAST_STEP)
            padding = None if (lengths == length).all() else self._padding(lengths, length)
            groups.append(Group(rows, len(lengths), length, padding))
            first = rows.stop
        return groups

    @cached_property
    @override
    def starts(self) -> Tensor:
        return torch.tensor([0, *np.cumsum(self.lengths)], dtype=torch.int32, device=self._device)

    @override
    def mean(self, states: Tensor) -> Tensor:
        return torch.stack([text.mean(0) for text in torch.split(states, list(self.lengths))])

    def _padding(self, lengths: np.ndarray[tuple[int], np.dtype[np.int64]], length: int) -> Padding:
        place = np.arange(length)
        is_token = place < lengths[:, None]  # (texts, length)
        kept = is_token.ravel().nonzero()[0]
        starts = np.cumsum(lengths) - lengths
        places = np.where(is_token, starts[:, None] + place, 0).ravel()
        is_token[lengths == 0, 0] = True  # a text without tokens attends to something, too
        tokens = torch.from_numpy(is_token).to(self._device)[:, None, None, :]
        bias = torch.zeros(tokens.shape, dtype=torch.bfloat16, device=self._device).masked_fill(~tokens, -torch.inf)
        return Padding(
            places=torch.from_numpy(places).to(self._device),
            kept=torch.from_numpy(kept).to(self._device),
            is_token=tokens,
            bias=bias.expand(-1, -1, length, -1).contiguous(),
        )


def _rounded(number: int, steps: int, *, least: int = 1) -> int:
    """The number rounded up, so that there are `steps` results in each power of two, all multiples of `least`."""
    step = max((1 << number.bit_length() - 1) // steps, least)
    return -(-number // step) * step
