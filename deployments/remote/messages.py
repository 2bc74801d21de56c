"""Several callers' requests in one message between two deployments."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from memory.values.errors import JiyiError

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")


@dataclass
class _Message(Generic[RequestT, ReplyT]):
    requests: list[RequestT] = field(default_factory=list)
    replies: list[asyncio.Future[ReplyT]] = field(default_factory=list)

    @property
    def is_abandoned(self) -> bool:
        """Whether every caller has gone."""
        return all(reply.cancelled() for reply in self.replies)


class SharedMessages(Generic[RequestT, ReplyT]):
    """Sends requests that wait at the same time in one message: a message costs more than encoding a short text.

    A message is sent at once while few are in flight, or when it is full; otherwise when one in flight is answered. So
    a single request does not wait, there are no timers, and messages grow with the load.

    Args:
        send: Sends requests to the other deployment; returns a reply or an error for each, in order.
        in_flight: Messages that are sent before any is answered: one is worked on while the next one travels.
        full: Requests with which a message is sent in any case, so that the other side sees the backlog and scales.
    """

    def __init__(
        self,
        send: Callable[[list[RequestT]], Awaitable[Sequence[ReplyT | JiyiError]]],
        *,
        in_flight: int = 2,
        full: int = 16,
    ) -> None:
        self._send = send
        self._limit = in_flight
        self._full = full
        self._next: _Message[RequestT, ReplyT] = _Message()
        self._in_flight: set[asyncio.Task[Sequence[ReplyT | JiyiError]]] = set()

    async def ask(self, request: RequestT) -> ReplyT:
        """Sends one request.

        Raises:
            JiyiError: The error of this request, or of the whole message.
        """
        reply: asyncio.Future[ReplyT] = asyncio.get_running_loop().create_future()
        message = self._next
        message.requests.append(request)
        message.replies.append(reply)
        if len(self._in_flight) < self._limit or len(message.requests) >= self._full:
            self._send_next()
        return await reply

    def _send_next(self) -> None:
        message, self._next = self._next, _Message()
        if message.is_abandoned:
            return
        # In no caller's context: Serve cancels the calls made in the context of a request that is cancelled, and with
        # them a message that others wait for.
        sending = asyncio.create_task(self._deliver(message), context=contextvars.Context())
        self._in_flight.add(sending)
        sending.add_done_callback(partial(self._arrived, message))
        for reply in message.replies:
            reply.add_done_callback(lambda _: sending.cancel() if message.is_abandoned else None)

    async def _deliver(self, message: _Message[RequestT, ReplyT]) -> Sequence[ReplyT | JiyiError]:
        return await self._send(message.requests)

    def _arrived(
        self, message: _Message[RequestT, ReplyT], sending: asyncio.Task[Sequence[ReplyT | JiyiError]]
    ) -> None:
        self._in_flight.discard(sending)
        if sending.cancelled():
            for reply in message.replies:
                reply.cancel()
        elif (error := sending.exception()) is not None:
            for reply in message.replies:
                _resolve(reply, error)
        else:
            for reply, result in zip(message.replies, sending.result(), strict=True):
                _resolve(reply, result)
        if self._next.requests:
            self._send_next()


def _resolve(reply: asyncio.Future[ReplyT], result: ReplyT | BaseException) -> None:
    if reply.done():  # the caller has gone
        return
    if isinstance(result, BaseException):
        reply.set_exception(result)
    else:
        reply.set_result(result)
