"""The Encoder port over an engine: concurrent callers share batches."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from typing_extensions import override

from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind

from ..batching.batcher import TokenBatcher
from ..batching.queue import BatchLimits
from ..batching.stats import BatcherStats
from .engine import EncoderEngine


class BatchedEncoder(Encoder):
    """An engine with a batcher in front.

    Args:
        engine: Computes.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
        tokenizer_threads: Threads that tokenise, for each priority.
        workers: Threads that compute.
    """

    def __init__(
        self,
        engine: EncoderEngine,
        *,
        limits: BatchLimits | None = None,
        tokenizer_threads: int = 1,
        workers: int = 1,
    ) -> None:
        self._engine = engine
        self._batcher = TokenBatcher(engine, limits=limits, tokenizer_threads=tokenizer_threads, workers=workers)

    @property
    @override
    def model_id(self) -> str:
        return self._engine.model_id

    @property
    @override
    def dimension(self) -> int:
        return self._engine.dimension

    @property
    def dtype(self) -> str:
        """The type in which the layers compute: `fp32` or `bf16`."""
        return self._engine.dtype

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        return (await self.encode_counted(texts, kind=kind, priority=priority))[0]

    async def encode_counted(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority
    ) -> tuple[FloatMatrix, int]:
        """Like `encode`, with the number of tokens that were read."""
        prepare = partial(self._engine.prepare, kind=kind)
        rows, tokens = await self._batcher.submit_counted(texts, prepare, priority=priority)
        return np.stack(rows) if rows else np.empty((0, self.dimension), np.float32), tokens

    def stats(self) -> BatcherStats:
        """Figures of this moment, for metrics and autoscaling."""
        return self._batcher.stats()

    def check_health(self) -> None:
        """Does nothing while the encoder works.

        Raises:
            ModelUnavailable: It is closed, its worker died, or the engine fails on everything.
        """
        self._batcher.check_health()

    async def close(self, drain_s: float = 30.0) -> None:
        """Refuses new inputs, finishes those that wait, for at most `drain_s` seconds, and stops."""
        await self._batcher.close(drain_s)
