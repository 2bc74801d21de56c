"""Runs a network over many texts."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from .batches import collate
from .decoding import TaggedSpan
from .features import Window, WindowReader
from .network import NO_SOURCE, TaggerNetwork

Decoder = Callable[[Tensor, Window], list[TaggedSpan]]
_BATCH_TOKENS = 4096


def tag_all(
    network: TaggerNetwork,
    reader: WindowReader,
    texts: Sequence[str],
    decode: Decoder,
    *,
    pad_id: int,
    source: int = NO_SOURCE,
) -> list[list[TaggedSpan]]:
    """Tags texts in order, batched by length; the network is put into `eval` for it.

    Args:
        network: Trained.
        reader: Cuts texts into windows.
        texts: Any.
        decode: Turns the scores of a window, shape (units, span, labels), into spans.
        pad_id: Token id of padding.
        source: Whose habits to follow.
    """
    return tag_windows(network, [reader.read(text) for text in texts], decode, pad_id=pad_id, source=source)


def tag_windows(
    network: TaggerNetwork,
    texts: Sequence[Sequence[Window]],
    decode: Decoder,
    *,
    pad_id: int,
    source: int = NO_SOURCE,
) -> list[list[TaggedSpan]]:
    """Like `tag_all`, of texts that are cut into windows already."""
    windows = [(number, window) for number, mine in enumerate(texts) for window in mine]
    found: dict[int, list[TaggedSpan]] = {}
    was_training = network.training
    network.eval()
    device = next(network.parameters()).device
    with torch.inference_mode():
        for chosen in _chunks(windows):
            batch = collate([window for _, window in chosen], [source] * len(chosen), pad_id=pad_id)
            scores = network({name: tensor.to(device) for name, tensor in batch.items()}).cpu()
            for (number, window), mine in zip(chosen, scores, strict=True):
                found.setdefault(number, []).extend(decode(mine[: len(window.units)], window))
    network.train(was_training)
    return [sorted(found.get(number, []), key=lambda span: span.start) for number in range(len(texts))]


def _chunks(windows: Sequence[tuple[int, Window]]) -> Iterator[list[tuple[int, Window]]]:
    """Batches of like length, of at most `_BATCH_TOKENS` padded tokens unless one window is longer."""
    chunk: list[tuple[int, Window]] = []
    for one in sorted(windows, key=lambda one: one[1].token_count):
        if chunk and (len(chunk) + 1) * one[1].token_count > _BATCH_TOKENS:
            yield chunk
            chunk = []
        chunk.append(one)
    if chunk:
        yield chunk
