"""Pads features into the tensors that the network reads."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..body.token_rows import padded
from .features import Features


def collate(features: Sequence[Features], *, pad_id: int, span: int, device: str = "cpu") -> dict[str, Tensor]:
    """A batch for `RewriterNetwork.encode`.

    Args:
        features: At least one.
        pad_id: Token id of padding.
        span: Units of the longest span.
        device: Where the tensors are put.
    """
    count = len(features)
    units = max(1, *(len(one.context_tokens) for one in features))
    gaps = max(len(one.query_tokens) for one in features) + 1
    tokens = max(one.token_count for one in features)
    types = np.zeros((count, tokens), np.int64)
    context = np.zeros((count, units, 2), np.int64)
    gap_tokens = np.zeros((count, gaps, 2), np.int64)
    spans = np.zeros((count, units, span), np.bool_)
    for row, one in enumerate(features):
        types[row, one.query_start : one.token_count] = 1
        mine = len(one.context_tokens)
        context[row, :mine] = one.context_tokens
        spans[row, :mine] = span_mask(one, span)
        words = one.query_tokens
        gap_tokens[row, : len(words) + 1, 0] = [one.query_start - 1, *words[:, 1]]
        gap_tokens[row, : len(words) + 1, 1] = [*words[:, 0], one.token_count - 1]
    arrays = {
        **padded(features, pad_id=pad_id),
        "token_type_ids": types,
        "context_tokens": context,
        "gap_tokens": gap_tokens,
        "gaps": np.array([len(one.query_tokens) + 1 for one in features], np.int64),
        "spans": spans,
    }
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def span_mask(features: Features, span: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether a span of that start and width lies inside one turn; shape (context units, span)."""
    turn_of = np.array(features.source.turn_of, np.int64)
    units_left = np.searchsorted(turn_of, turn_of, side="right") - np.arange(len(turn_of))
    mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = np.arange(span) < units_left[:, None]
    return mask
