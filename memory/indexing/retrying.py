"""An encoder that is asked again when it fails or takes too long (004 §6.2)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import structlog
from more_itertools import chunked
from typing_extensions import override

from ..ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from ..values.errors import EmbeddingFailed, JiyiError, Overloaded, Unavailable

MAX_RETRIES = 3
TIMEOUT_S = 30.0
TEXTS_A_CALL = 16
"""So few that a call ends in time also where a CPU encodes and others wait."""
_FIRST_PAUSE_S = 0.5
_log = structlog.get_logger(__name__)


class RetriedEncoder(Encoder):
    """Encodes `TEXTS_A_CALL` texts a call, each call again after 0.5, 1 and 2 seconds where it fails.

    Args:
        inner: Computes the vectors.
        timeout_s: Seconds for one call.
        sleep: Waits between calls.
    """

    def __init__(
        self,
        inner: Encoder,
        *,
        timeout_s: float = TIMEOUT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._inner = inner
        self._timeout_s = timeout_s
        self._sleep = sleep

    @property
    @override
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    @override
    def dimension(self) -> int:
        return self._inner.dimension

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        """See `Encoder.encode`.

        Raises:
            EmbeddingFailed: A call failed `MAX_RETRIES` times again.
        """
        parts = [await self._encode_part(part, kind, priority) for part in chunked(texts, TEXTS_A_CALL)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), dtype=np.float32)

    async def _encode_part(self, texts: Sequence[str], kind: TextKind, priority: Priority) -> FloatMatrix:
        problem = ""
        for attempt in range(MAX_RETRIES + 1):
            if attempt:
                await self._sleep(_FIRST_PAUSE_S * 2 ** (attempt - 1))
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._inner.encode(texts, kind=kind, priority=priority)
            except TimeoutError:
                problem = f"no answer within {self._timeout_s:g} s"
            except (Unavailable, Overloaded) as error:
                problem = _reason(error)
            _log.warning("embedding_retried", attempt=attempt + 1, texts=len(texts), error=problem)
        message = f"{len(texts)} texts were not embedded in {MAX_RETRIES + 1} attempts: {problem}"
        raise EmbeddingFailed(message, component="embedder", attempts=MAX_RETRIES + 1)


def _reason(error: JiyiError) -> str:
    return error.message or type(error).__name__
