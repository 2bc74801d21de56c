"""Batches of windows, and the network run over many texts."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from memory.values.mentions import TaggedSpan

from ..batching.engine import padded_batches
from ..body.network_parts import evaluating
from ..body.token_rows import padded
from .features import Window
from .network import NO_SOURCE, TaggerNetwork

Decoder = Callable[[Tensor, Window], list[TaggedSpan]]
_BATCH_TOKENS = 4096


def collate(windows: Sequence[Window], sources: Sequence[int], *, pad_id: int) -> dict[str, Tensor]:
    """A batch for `TaggerNetwork.forward`.

    Args:
        windows: At least one.
        sources: Number of the data set of each window; `NO_SOURCE` for none.
        pad_id: Token id of padding.
    """
    units = max(len(window.units) for window in windows)
    unit_tokens = np.zeros((len(windows), units, 2), np.int64)
    for row, window in enumerate(windows):
        unit_tokens[row, : len(window.units)] = window.unit_tokens
    arrays = {
        **padded(windows, pad_id=pad_id),
        "unit_tokens": unit_tokens,
        "unit_counts": np.array([len(window.units) for window in windows], np.int64),
        "sources": np.array(sources, np.int64),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def tag_windows(
    network: TaggerNetwork,
    texts: Sequence[Sequence[Window]],
    decode: Decoder,
    *,
    pad_id: int,
    source: int = NO_SOURCE,
) -> list[list[TaggedSpan]]:
    """Tags texts in order, in batches of like length.

    Args:
        network: In any mode; it runs in evaluation mode.
        texts: In windows.
        decode: Turns the scores of a window, shape (units, span, labels), into spans.
        pad_id: Token id of padding.
        source: Number of the data set whose annotation guidelines to follow.
    """
    windows = [(number, window) for number, text in enumerate(texts) for window in text]
    spans: list[list[TaggedSpan]] = [[] for _ in texts]
    with evaluating(network) as device:
        for batch in padded_batches(windows, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            tensors = collate([window for _, window in batch], [source] * len(batch), pad_id=pad_id)
            scores = network({name: tensor.to(device) for name, tensor in tensors.items()}).cpu()
            for (number, window), window_scores in zip(batch, scores, strict=True):
                spans[number] += decode(window_scores[: len(window.units)], window)
    return [sorted(text_spans, key=lambda span: span.start) for text_spans in spans]
