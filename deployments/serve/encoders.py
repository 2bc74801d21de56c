"""The encoders of one Embedder replica: one per model whose vectors are searched or written (DESIGN §8)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from typing import Any

import structlog

from memory.ports.models.language import Priority
from memory.values.errors import JiyiError, Unavailable
from models.batching.stats import BatcherStats
from models.encoder.batched_encoder import BatchedEncoder

from ..remote.embedder import Encoded, EncodeRequest

_log = structlog.get_logger(__name__)
_WATCH_S = 2.0
_UNUSED_S = 30.0
_LARGEST = frozenset({"tokens_per_s", "batch_tokens"})
"""Figures of which the largest counts; the others are added up over the encoders."""


class Encoders:
    """Loads a model at its first use, or when it is wanted; unloads one that is neither wanted nor used.

    Args:
        first: The model to start with; it is loaded by the constructor.
        make: Loads a model; blocks.
        wanted: The models to hold, the live one first; None where there is only `first`.
    """

    def __init__(
        self,
        first: str,
        *,
        make: Callable[[str], BatchedEncoder],
        wanted: Callable[[], Awaitable[Sequence[str]]] | None = None,
    ) -> None:
        self._make = make
        self._wanted = wanted
        self._encoders = {first: make(first)}
        self._used_at = {first: time.monotonic()}
        self._loading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Starts to watch, in the background, which models are wanted."""
        if self._wanted is not None:
            self._watching = asyncio.get_running_loop().create_task(self._watch(self._wanted))

    async def of(self, model_id: str) -> BatchedEncoder:
        """The encoder of a model.

        Raises:
            ModelUnavailable: Its weights cannot be loaded.
        """
        self._used_at[model_id] = time.monotonic()
        if model_id not in self._encoders:
            async with self._loading:
                if model_id not in self._encoders:
                    self._encoders[model_id] = await asyncio.to_thread(self._make, model_id)
                    _log.info("encoder_loaded", model=model_id, held=sorted(self._encoders))
        return self._encoders[model_id]

    async def embed(self, requests: Sequence[EncodeRequest], priority: Priority) -> list[Encoded | JiyiError]:
        """Encodes the requests of several callers: for each, in order, its vectors or the error."""
        replies = await asyncio.gather(
            *(self._embed(request, priority) for request in requests), return_exceptions=True
        )
        return [_expected(reply) for reply in replies]

    async def _embed(self, request: EncodeRequest, priority: Priority) -> Encoded:
        encoder = await self.of(request.model_id)
        return await encoder.encode_counted(request.texts, kind=request.kind, priority=priority)

    def stats(self) -> BatcherStats:
        """Figures of all encoders together."""
        all_stats = [encoder.stats() for encoder in self._encoders.values()]

        def total(name: str) -> Any:
            values = [getattr(stats, name) for stats in all_stats]
            return max(values) if name in _LARGEST else sum(values)

        return BatcherStats(**{field.name: total(field.name) for field in fields(BatcherStats)})

    def dtypes(self) -> str:
        """The number format in which each model computes, by name: `multilingual-e5-small bf16`."""
        return ", ".join(f"{name} {encoder.dtype}" for name, encoder in sorted(self._encoders.items()))

    def check_health(self) -> None:
        """Raises `ModelUnavailable` where an encoder is broken."""
        for encoder in self._encoders.values():
            encoder.check_health()

    async def close(self) -> None:
        """Finishes the current requests and stops."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        for encoder in self._encoders.values():
            await encoder.close()

    async def _watch(self, wanted: Callable[[], Awaitable[Sequence[str]]]) -> None:
        while True:
            try:
                await self._hold([*await wanted()])
            except Unavailable as error:
                _log.warning("encoders_not_watched", error=error.message)
            await asyncio.sleep(_WATCH_S)

    async def _hold(self, wanted: Sequence[str]) -> None:
        for model_id in wanted:
            await self.of(model_id)
        unused = [name for name in self._encoders if name not in wanted and self._idle_s(name) > _UNUSED_S]
        for model_id in unused:
            await self._encoders.pop(model_id).close()
            _log.info("encoder_unloaded", model=model_id, held=sorted(self._encoders))

    def _idle_s(self, model_id: str) -> float:
        return time.monotonic() - self._used_at[model_id]


def _expected(reply: Encoded | BaseException) -> Encoded | JiyiError:
    """An error of ours is the reply to one request; any other is a defect and is raised to all callers."""
    if isinstance(reply, BaseException) and not isinstance(reply, JiyiError):
        raise reply
    return reply
