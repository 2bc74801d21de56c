"""A reply that is cut off: the client notices it in different ways, and what is said of it is the same."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from deployments.config.language_model_settings import EndpointArgs
from deployments.remote.chat_upstream import ChatUpstream
from memory.values.errors import ModelUnavailable

_CHUNK = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "tiny",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "half"}, "finish_reason": None}],
}
_RESET = struct.pack("ii", 1, 0)


@asynccontextmanager
async def cutting(after: asyncio.Event, *, resets: bool) -> AsyncIterator[str]:
    """The base URL of a server that sends one chunk and then closes, or resets, the connection."""

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(
            int(head.lower().partition(b"content-length:")[2].split()[0])
        )  # unread, it would reset
        event = f"data: {json.dumps(_CHUNK)}\n\n".encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        await writer.drain()
        await after.wait()
        if resets:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        writer.transport.abort()

    async with await asyncio.start_server(reply, "127.0.0.1") as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/v1"


@pytest.mark.parametrize("resets", [False, True])
async def test_a_reply_that_is_cut_off_stopped_in_its_middle_whether_the_connection_was_closed_or_reset(
    resets: bool,
) -> None:
    begun = asyncio.Event()
    texts: list[Any] = []

    async def read(upstream: ChatUpstream) -> None:
        async for chunk in upstream.stream([{"role": "user", "content": "hi"}], {}):
            texts.append(chunk["choices"][0]["delta"]["content"])
            begun.set()

    async with cutting(begun, resets=resets) as url:
        upstream = ChatUpstream(EndpointArgs(base_url=url, model="tiny"))
        with pytest.raises(ModelUnavailable, match="stopped in the middle"):
            await read(upstream)
        await upstream.close()
    assert texts == ["half"]
