"""The Embedder deployment: GPU- or CPU-batched text encoding for everything that needs vectors (DESIGN §2, §5)."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from memory.ports.language import FloatMatrix, Priority, TextKind
from models.batched_encoder import BatchedEncoder


class Embedder:
    """One encoder with its batcher; the event loop only enqueues."""

    def __init__(self, *, encoder: Callable[[], BatchedEncoder]) -> None:
        self._encoder = encoder()

    async def encode(self, texts: list[str], kind: TextKind, priority: Priority) -> FloatMatrix:
        """Encodes texts in order into one array of shape (len(texts), dimension)."""
        return await self._encoder.encode(texts, kind=kind, priority=priority)

    async def embed(self, texts: list[str], kind: TextKind, priority: Priority) -> tuple[FloatMatrix, int]:
        """Like `encode`, with the number of tokens that were read."""
        return await self._encoder.encode_counted(texts, kind=kind, priority=priority)

    async def stats(self) -> dict[str, float]:
        """What the batcher has done and what waits."""
        return asdict(self._encoder.stats())

    def record_autoscaling_stats(self) -> dict[str, float]:
        """What the scaling policy reads: tokens queued and running, and the measured speed (Ray Serve's hook)."""
        stats = self._encoder.stats()
        return {
            "waiting_tokens": stats.queued_tokens + stats.running_tokens,
            "tokens_per_s": stats.tokens_per_s,
        }

    def check_health(self) -> None:
        """Raises where the worker thread is dead, so that Serve replaces the replica (Ray Serve's hook)."""
        self._encoder.check_health()

    async def __del__(self) -> None:
        if hasattr(self, "_encoder"):  # the constructor may have failed
            await self._encoder.close()


class TokenBacklogPolicy:
    """Scales on tokens waiting, not on calls: `desired = waiting / (speed of a replica × target wait)` (DESIGN §2).

    Args:
        target_wait_s: How long the tokens that wait now may take.
        tokens_per_s: Speed that a replica is expected to reach with full batches. A measured speed counts only where it
            is higher: lone short queries never fill a batch, and would make a fast replica look slow.
    """

    def __init__(self, *, target_wait_s: float, tokens_per_s: float) -> None:
        self._target_wait_s = target_wait_s
        self._tokens_per_s = tokens_per_s

    def __call__(self, context: Any) -> tuple[int, dict[str, Any]]:
        """Ray Serve's policy interface: an `AutoscalingContext` in, the number of replicas out."""
        metrics = context.aggregated_metrics or {}
        waiting = sum(metrics.get("waiting_tokens", {}).values())
        speed = max([self._tokens_per_s, *metrics.get("tokens_per_s", {}).values()])
        return max(1, math.ceil(waiting / (speed * self._target_wait_s))), {}
