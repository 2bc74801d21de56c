"""Small batches on CUDA as captured graphs: one launch instead of about two hundred (DESIGN §5).

A short query runs two hundred kernels of a few microseconds each, whose launches take longer than their work. A graph
is captured once for each shape and replayed with new ids, positions and text boundaries in its inputs. Rows and texts
are rounded up to few shapes; the added rows form another text, whose vector is dropped.

It has not run on a GPU yet; its results are tested on a CPU without capture.

This module imports torch: it is imported where a network is built, never with its package.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .unpadded import Group

TokenIds = npt.NDArray[np.int64]
Compute = Callable[[], Tensor]
Capture = Callable[[Compute], Compute]
"""Captures a computation over inputs at fixed addresses: returns a faster one with the same result."""

MOST_ROWS, MOST_TEXTS = 256, 16
_FEWEST_ROWS, _FEWEST_TEXTS = 16, 2
_WARM_UPS = 3


class SmallBatch:
    """The inputs of one shape: a layout (`unpadded.Layout`) of fixed size for any texts.

    Args:
        rows: Tokens of all texts, padding included.
        texts: Number of texts, padding included.
        device: Device of the network.
    """

    def __init__(self, rows: int, texts: int, device: torch.device) -> None:
        self.rows = self.tokens = self.longest = rows
        self.ids = torch.zeros(rows, dtype=torch.int64, device=device)
        self.positions = torch.zeros(rows, dtype=torch.int64, device=device)
        self.starts = torch.zeros(texts + 1, dtype=torch.int32, device=device)
        self._text_of = torch.zeros(rows, dtype=torch.int64, device=device)
        self._texts = texts
        self.fill([])

    def fill(self, texts: Sequence[TokenIds]) -> None:
        """Writes texts, shape (tokens,) each, and the padding; needs fewer rows and texts than the batch has."""
        lengths = [len(ids) for ids in texts]
        self._lengths = [*lengths, self.rows - sum(lengths)]
        padding = np.zeros(self._lengths[-1], np.int64)
        empty = [0] * (self._texts - len(self._lengths))
        starts = np.cumsum([0, *self._lengths, *empty]).astype(np.int32)
        text_of = np.repeat(np.arange(len(self._lengths)), self._lengths)
        self.ids.copy_(torch.from_numpy(np.concatenate([*texts, padding])))
        self.positions.copy_(torch.from_numpy(np.concatenate([*map(np.arange, lengths), padding])))
        self.starts.copy_(torch.from_numpy(starts))
        self._text_of.copy_(torch.from_numpy(text_of))

    @property
    def groups(self) -> list[Group]:
        """One group for each text; used only without capture."""
        ends = np.cumsum(self._lengths).tolist()
        return [
            Group(slice(end - length, end), 1, length, None) for length, end in zip(self._lengths, ends, strict=True)
        ]

    def mean(self, states: Tensor) -> Tensor:
        """The mean over the rows of each text: (rows, hidden) to (texts, hidden), zeros for texts without rows."""
        sums = states.new_zeros(self._texts, states.shape[1]).index_add_(0, self._text_of, states)
        return sums / self.starts.diff().clamp(min=1)[:, None]


class CapturedBatches:
    """Computes small batches with the graph of their shape; safe to call from several threads, which take turns.

    Args:
        compute: Computes the vectors of a batch's texts, shape (texts, hidden).
        device: Device of the network.
        capture: Captures `compute`; None for a CUDA graph.
    """

    def __init__(
        self, compute: Callable[[SmallBatch], Tensor], device: torch.device, *, capture: Capture | None = None
    ) -> None:
        self._compute = compute
        self._device = device
        self._capture = capture or cuda_graph
        self._captured: dict[tuple[int, int], tuple[SmallBatch, Compute]] = {}
        self._lock = threading.Lock()

    def takes(self, texts: Sequence[TokenIds]) -> bool:
        """Whether a batch with its padding has at most `MOST_ROWS` rows and `MOST_TEXTS` texts."""
        return sum(map(len, texts)) < MOST_ROWS and len(texts) < MOST_TEXTS

    def run(self, texts: Sequence[TokenIds]) -> Tensor:
        """The vectors of a small batch, shape (texts, hidden)."""
        shape = (
            _power_of_two(sum(map(len, texts)) + 1, _FEWEST_ROWS),
            _power_of_two(len(texts) + 1, _FEWEST_TEXTS),
        )
        with self._lock:
            if shape not in self._captured:
                batch = SmallBatch(*shape, self._device)
                self._captured[shape] = batch, self._capture(partial(self._compute, batch))
            batch, compute = self._captured[shape]
            batch.fill(texts)
            return compute()[: len(texts)].clone()


def cuda_graph(compute: Compute) -> Compute:
    """Captures a computation on the current CUDA device, after warm-up runs on a stream of its own."""
    warm_up_stream = torch.cuda.Stream()
    warm_up_stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm_up_stream):
        for _ in range(_WARM_UPS):
            compute()
    torch.cuda.current_stream().wait_stream(warm_up_stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = compute()

    def replay() -> Tensor:
        graph.replay()
        return output

    return replay


def _power_of_two(least: int, fewest: int) -> int:
    return max(fewest, 1 << (least - 1).bit_length())
