"""The Embedder deployment behind its handle: short texts of several callers share a message."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from typing_extensions import override

from memory.ports.models.language import Encoder, FloatMatrix, Priority, TextKind
from memory.values.errors import JiyiError

from .handles import Remote
from .messages import SharedMessages

_SHORT_CHARACTERS = 512
"""Requests with at most so many characters share a message; for longer ones, encoding costs more than the message."""


@dataclass(frozen=True, slots=True)
class EncodeRequest:
    """Texts of one caller, for one model."""

    texts: list[str]
    kind: TextKind
    model_id: str


Encoded = tuple[FloatMatrix, int]
"""Vectors, shape (texts, dimension), and their number of tokens."""


class RemoteEmbedder:
    """The connection to the Embedder that all encoders of a process share."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._shared = {
            priority: SharedMessages[EncodeRequest, Encoded](partial(self._send, priority)) for priority in Priority
        }

    async def embed(self, request: EncodeRequest, *, priority: Priority) -> Encoded:
        """Encodes texts in order.

        Raises:
            InvalidField: More texts than the queue can hold.
            Overloaded: The queue is full.
            ModelUnavailable: The model cannot be loaded.
            Unavailable: No replica answered before the deadline.
        """
        if sum(map(len, request.texts)) <= _SHORT_CHARACTERS:
            return await self._remote.within(self._shared[priority].ask(request))
        [encoded] = await self._send(priority, [request])
        if isinstance(encoded, JiyiError):
            raise encoded
        return encoded

    async def _send(self, priority: Priority, requests: list[EncodeRequest]) -> Sequence[Encoded | JiyiError]:
        replies: Sequence[Encoded | JiyiError] = await self._remote.call("embed", requests, priority)
        return replies


class RemoteEncoder(Encoder):
    """One model of the Embedder deployment as an `Encoder`."""

    def __init__(self, embedder: RemoteEmbedder, *, model_id: str, dimension: int) -> None:
        self._embedder = embedder
        self._model_id = model_id
        self._dimension = dimension

    @property
    @override
    def model_id(self) -> str:
        return self._model_id

    @property
    @override
    def dimension(self) -> int:
        return self._dimension

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        return (await self.encode_counted(texts, kind=kind, priority=priority))[0]

    async def encode_counted(self, texts: Sequence[str], *, kind: TextKind, priority: Priority) -> Encoded:
        """`encode`, with the number of tokens."""
        return await self._embedder.embed(EncodeRequest(list(texts), kind, self._model_id), priority=priority)
