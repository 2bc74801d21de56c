"""Small batches on CUDA as recorded graphs: one launch in place of some two hundred (DESIGN §5).

A short query is two hundred kernels of a few microseconds each, so that starting them takes longer than what they do. A
graph is recorded once for each shape and replayed: ids, positions and the places of the texts are written into its
inputs. Shapes are few, as rows and texts are rounded up; the rows that are added are one text more, which nobody reads.

No GPU has run it yet. What it computes is tested on a CPU, where the same function runs without being recorded.

This module needs torch: it is loaded by what builds a network, never by importing a package.
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
Record = Callable[[Compute], Compute]
"""Takes a computation over inputs that stay where they are; gives one that does the same, quicker."""

MOST_ROWS, MOST_TEXTS = 256, 16
_FEWEST_ROWS, _FEWEST_TEXTS = 16, 2
_WARM_UPS = 3


class SmallBatch:
    """The inputs of one shape: a layout (`unpadded.Layout`) whose sizes never change, whatever texts lie in it.

    Args:
        rows: Tokens of all texts, padding included.
        texts: How many texts there may be, padding included.
        device: Where the network is.
    """

    def __init__(self, rows: int, texts: int, device: torch.device) -> None:
        self.rows = self.tokens = self.longest = rows
        self.ids = torch.zeros(rows, dtype=torch.int64, device=device)
        self.positions = torch.zeros(rows, dtype=torch.int64, device=device)
        self.starts = torch.zeros(texts + 1, dtype=torch.int32, device=device)
        self._owners = torch.zeros(rows, dtype=torch.int64, device=device)
        self._texts = texts
        self.fill([])

    def fill(self, texts: Sequence[TokenIds]) -> None:
        """Writes texts, shape (tokens,) each, and behind them the padding; fewer rows and texts than there may be."""
        lengths = [len(ids) for ids in texts]
        self._lengths = [*lengths, self.rows - sum(lengths)]
        padding = np.zeros(self._lengths[-1], np.int64)
        empty = [0] * (self._texts - len(self._lengths))
        starts = np.cumsum([0, *self._lengths, *empty]).astype(np.int32)
        owners = np.repeat(np.arange(len(self._lengths)), self._lengths)
        self.ids.copy_(torch.from_numpy(np.concatenate([*texts, padding])))
        self.positions.copy_(torch.from_numpy(np.concatenate([*map(np.arange, lengths), padding])))
        self.starts.copy_(torch.from_numpy(starts))
        self._owners.copy_(torch.from_numpy(owners))

    @property
    def groups(self) -> list[Group]:
        """Each text for itself; only where attention is not recorded."""
        ends = np.cumsum(self._lengths).tolist()
        return [
            Group(slice(end - length, end), 1, length, None) for length, end in zip(self._lengths, ends, strict=True)
        ]

    def mean(self, states: Tensor) -> Tensor:
        """The mean over the rows of each text: (rows, hidden) gives (texts, hidden), zeros for texts without rows."""
        sums = states.new_zeros(self._texts, states.shape[1]).index_add_(0, self._owners, states)
        return sums / self.starts.diff().clamp(min=1)[:, None]


class RecordedBatches:
    """Computes small batches by what was recorded for their shape; from several threads, one after the other.

    Args:
        compute: Gives the vectors of the texts that lie in a batch, shape (texts, hidden).
        device: Where it computes.
        record: Records it; a CUDA graph where it is not given.
    """

    def __init__(
        self, compute: Callable[[SmallBatch], Tensor], device: torch.device, *, record: Record | None = None
    ) -> None:
        self._compute = compute
        self._device = device
        self._record = record or cuda_graph
        self._recorded: dict[tuple[int, int], tuple[SmallBatch, Compute]] = {}
        self._lock = threading.Lock()

    def takes(self, texts: Sequence[TokenIds]) -> bool:
        """Whether a batch is small: with its padding it has `MOST_ROWS` rows and `MOST_TEXTS` texts at most."""
        return sum(map(len, texts)) < MOST_ROWS and len(texts) < MOST_TEXTS

    def run(self, texts: Sequence[TokenIds]) -> Tensor:
        """The vectors of a small batch, shape (texts, hidden)."""
        shape = (
            _power_of_two(sum(map(len, texts)) + 1, _FEWEST_ROWS),
            _power_of_two(len(texts) + 1, _FEWEST_TEXTS),
        )
        with self._lock:
            if shape not in self._recorded:
                batch = SmallBatch(*shape, self._device)
                self._recorded[shape] = batch, self._record(partial(self._compute, batch))
            batch, compute = self._recorded[shape]
            batch.fill(texts)
            return compute()[: len(texts)].clone()


def cuda_graph(compute: Compute) -> Compute:
    """Records a computation on the current CUDA device; it is run some times before, on a stream of its own."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(_WARM_UPS):
            compute()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        written = compute()

    def replay() -> Tensor:
        graph.replay()
        return written

    return replay


def _power_of_two(least: int, fewest: int) -> int:
    return max(fewest, 1 << (least - 1).bit_length())
