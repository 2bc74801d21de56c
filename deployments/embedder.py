"""The Embedder deployment: GPU- or CPU-batched text encoding for everything that needs vectors (DESIGN §2, §5)."""

from collections.abc import Callable
from dataclasses import asdict

from memory.ports.language import FloatMatrix, Priority, TextKind

from .encoders import Encoders


class Embedder:
    """One encoder a model, each with its batcher; the event loop only enqueues."""

    def __init__(self, *, encoders: Callable[[], Encoders]) -> None:
        self._encoders = encoders()
        self._encoders.begin()

    async def encode(self, texts: list[str], kind: TextKind, priority: Priority, model_id: str) -> FloatMatrix:
        """Encodes texts in order into one array of shape (len(texts), dimension)."""
        return await (await self._encoders.of(model_id)).encode(texts, kind=kind, priority=priority)

    async def embed(
        self, texts: list[str], kind: TextKind, priority: Priority, model_id: str
    ) -> tuple[FloatMatrix, int]:
        """Like `encode`, with the number of tokens that were read."""
        return await (await self._encoders.of(model_id)).encode_counted(texts, kind=kind, priority=priority)

    async def stats(self) -> dict[str, float | str]:
        """What the batcher has done and what waits, and in what the models compute."""
        return {**asdict(self._encoders.stats()), "dtype": self._encoders.dtypes()}

    def record_autoscaling_stats(self) -> dict[str, float]:
        """What the scaling policy reads: tokens queued and running, and the measured speed (Ray Serve's hook)."""
        stats = self._encoders.stats()
        return {
            "waiting_tokens": stats.queued_tokens + stats.running_tokens,
            "tokens_per_s": stats.tokens_per_s,
            "busy_s": stats.busy_s,
        }

    def check_health(self) -> None:
        """Raises where the worker thread is dead, so that Serve replaces the replica (Ray Serve's hook)."""
        self._encoders.check_health()

    async def __del__(self) -> None:
        if hasattr(self, "_encoders"):  # the constructor may have failed
            await self._encoders.close()
