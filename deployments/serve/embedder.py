"""The Embedder deployment: GPU- or CPU-batched text encoding for everything that needs vectors (DESIGN §2, §5)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from typing_extensions import override

from memory.ports.models.language import Priority
from memory.values.errors import JiyiError

from ..remote.embedder import Encoded, EncodeRequest
from ..telemetry.replicas import Figures, Reporting
from .encoders import Encoders


class Embedder(Reporting):
    """One encoder per model, each with its batcher; the event loop only enqueues."""

    def __init__(self, *, encoders: Callable[[], Encoders]) -> None:
        self._encoders = encoders()
        self._encoders.begin()

    async def embed(self, requests: Sequence[EncodeRequest], priority: Priority) -> list[Encoded | JiyiError]:
        """Encodes the requests of several callers: for each, in order, its vectors or the error."""
        return await self._encoders.embed(requests, priority)

    @override
    async def stats(self) -> Figures:
        """The counters and queue of the batcher, and the number type of the models."""
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
