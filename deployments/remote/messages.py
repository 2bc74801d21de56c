"""Requests of several callers in one message between two deployments."""

import asyncio
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
        """Whether nobody waits for it any more."""
        return all(reply.cancelled() for reply in self.replies)


class SharedMessages(Generic[RequestT, ReplyT]):
    """Lets requests that wait at the same time travel together: a message costs more than a short text to encode.

    A message leaves at once while few are under way, or when it is full; otherwise when one of those comes back. So a
    request that is alone waits for nobody, there are no timers, and messages grow with the load by themselves.

    Args:
        send: Takes requests to the other side; a reply, or why there is none, for each in order.
        under_way: So many messages leave before any has come back: one is worked on while the next one travels.
        full: So many requests leave in any case, so that what waits is seen on the other side, which scales by it.
    """

    def __init__(
        self,
        send: Callable[[list[RequestT]], Awaitable[Sequence[ReplyT | JiyiError]]],
        *,
        under_way: int = 2,
        full: int = 16,
    ) -> None:
        self._send = send
        self._limit = under_way
        self._full = full
        self._next: _Message[RequestT, ReplyT] = _Message()
        self._under_way: set[asyncio.Task[Sequence[ReplyT | JiyiError]]] = set()

    async def ask(self, request: RequestT) -> ReplyT:
        """Sends one request.

        Raises:
            JiyiError: Why there is no reply to this one, or to the message as a whole.
        """
        reply: asyncio.Future[ReplyT] = asyncio.get_running_loop().create_future()
        message = self._next
        message.requests.append(request)
        message.replies.append(reply)
        if len(self._under_way) < self._limit or len(message.requests) >= self._full:
            self._leave()
        return await reply

    def _leave(self) -> None:
        message, self._next = self._next, _Message()
        if message.is_abandoned:
            return
        sending = asyncio.create_task(self._deliver(message))
        self._under_way.add(sending)
        sending.add_done_callback(partial(self._arrived, message))
        for reply in message.replies:
            reply.add_done_callback(lambda _: sending.cancel() if message.is_abandoned else None)

    async def _deliver(self, message: _Message[RequestT, ReplyT]) -> Sequence[ReplyT | JiyiError]:
        return await self._send(message.requests)

    def _arrived(
        self, message: _Message[RequestT, ReplyT], sending: asyncio.Task[Sequence[ReplyT | JiyiError]]
    ) -> None:
        self._under_way.discard(sending)
        if sending.cancelled():
            for reply in message.replies:
                reply.cancel()
        elif (error := sending.exception()) is not None:
            for reply in message.replies:
                _settle(reply, error)
        else:
            for reply, result in zip(message.replies, sending.result(), strict=True):
                _settle(reply, result)
        if self._next.requests:
            self._leave()


def _settle(reply: asyncio.Future[ReplyT], result: ReplyT | BaseException) -> None:
    if reply.done():  # its caller has gone
        return
    if isinstance(result, BaseException):
        reply.set_exception(result)
    else:
        reply.set_result(result)
