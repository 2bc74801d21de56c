"""Replies as server-sent events, whose status waits for the first piece."""

from collections.abc import AsyncIterator
from typing import Any, TypeVar

import orjson
from sse_starlette import ServerSentEvent

T = TypeVar("T")


async def begun(pieces: AsyncIterator[T]) -> AsyncIterator[T]:
    """The same pieces, of which the first one is there: what fails before it is an error with a status."""
    first = await anext(pieces)

    async def all_pieces() -> AsyncIterator[T]:
        try:
            yield first
            async for piece in pieces:
                yield piece
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()

    return all_pieces()


def json_event(data: dict[str, Any], *, event: str | None = None) -> ServerSentEvent:
    """An event with JSON as its data."""
    return ServerSentEvent(data=orjson.dumps(data).decode(), event=event, sep="\n")
