"""Pads windows into the tensors that the network reads."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..body.token_rows import padded
from .features import Window


def collate(windows: Sequence[Window], sources: Sequence[int], *, pad_id: int) -> dict[str, Tensor]:
    """A batch for `TaggerNetwork.forward`.

    Args:
        windows: At least one.
        sources: Of each; `NO_SOURCE` where none is told.
        pad_id: Token id of padding.
    """
    count = len(windows)
    units = max(len(one.units) for one in windows)
    unit_tokens = np.zeros((count, units, 2), np.int64)
    for row, one in enumerate(windows):
        unit_tokens[row, : len(one.units)] = one.unit_tokens
    arrays = {
        **padded(windows, pad_id=pad_id),
        "unit_tokens": unit_tokens,
        "unit_counts": np.array([len(one.units) for one in windows], np.int64),
        "sources": np.array(sources, np.int64),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
