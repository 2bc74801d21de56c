"""A proxy that breaks: stands between a client and a real server and fails as networks and servers do.

    with FaultProxy("unix:///tmp/redis.sock") as proxy:      # or "host:port"
        client = connect(f"redis://127.0.0.1:{proxy.port}")
        proxy.slow(10)

Every change holds for connections that are open and for new ones, unless said otherwise.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from enum import Enum
from typing import Any, Self

_CHUNK_BYTES = 64 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER with no time: close sends RST


class _Mode(Enum):
    PASS = "pass"
    HANG = "hang"
    SLOW = "slow"
    CUT = "cut"
    RESET = "reset"


class FaultProxy:
    """Forwards bytes from a port of its own to a server, in a thread of its own; usable from sync and async tests.

    Args:
        upstream: `host:port`, or `unix://` and the path of a socket. May be set while it runs, for new connections.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.accepted = 0
        self.port = 0
        self._mode = _Mode.PASS
        self._delay_s = 0.0
        self._cut_after = 0
        self._heals = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def heal(self) -> None:
        """Forwards everything, and listens again after `refuse`."""
        self._run(self._become(_Mode.PASS))

    def refuse(self) -> None:
        """Stops listening and closes what is open: the server is not there."""
        self._run(self._refuse())

    def hang(self) -> None:
        """Accepts and reads, and never answers."""
        self._run(self._become(_Mode.HANG))

    def slow(self, delay_s: float) -> None:
        """Holds back every piece for `delay_s`, in each direction."""
        self._delay_s = delay_s
        self._run(self._become(_Mode.SLOW))

    def cut(self, after_bytes: int = 0) -> None:
        """Closes a connection when the server has sent so many more bytes on it; what the client sent has arrived.

        0 drops the whole reply: the server has done what was asked, and the client does not learn of it.
        """
        self._cut_after = after_bytes
        self._run(self._become(_Mode.CUT))

    def cut_once(self) -> None:
        """Drops the next reply and its connection, and then heals: the client may try again."""
        self._heals = True
        self.cut()

    def reset(self) -> None:
        """Answers what the client sends with a reset, before the server has seen it."""
        self._run(self._become(_Mode.RESET))

    def drop(self) -> None:
        """Closes what is open, once; the mode stays."""
        self._run(self._drop())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=10)

    async def _become(self, mode: _Mode) -> None:
        self._mode = mode
        self._changed.set()
        self._changed = asyncio.Event()
        if self._server is None:
            await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._drop()

    async def _stop(self) -> None:
        await self._refuse()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _drop(self) -> None:
        for writer in list(self._open):
            writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open.add(writer)
        upstream: asyncio.StreamWriter | None = None
        try:
            replies, upstream = await self._connect()
            self._open.add(upstream)
            upload = asyncio.create_task(self._forward(reader, upstream, writer, replies=False))
            download = asyncio.create_task(self._forward(replies, writer, writer, replies=True))
            try:
                await asyncio.wait((upload, download), return_when=asyncio.FIRST_COMPLETED)
            finally:
                upload.cancel()
                download.cancel()
                await asyncio.gather(upload, download, return_exceptions=True)
        except OSError:
            pass  # no server: the client sees its connection closed
        except asyncio.CancelledError:
            pass  # the proxy ends
        finally:
            for end in (writer, upstream):
                if end is not None:
                    self._open.discard(end)
                    end.close()
                    with contextlib.suppress(OSError):
                        await end.wait_closed()
            self._tasks.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.upstream.startswith("unix://"):
            return await asyncio.open_unix_connection(self.upstream.removeprefix("unix://"))
        host, _, port = self.upstream.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def _forward(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, client: asyncio.StreamWriter, *, replies: bool
    ) -> None:
        """Copies until one end closes or the mode ends the connection."""
        forwarded_in_cut, since = 0, self._changed
        with contextlib.suppress(OSError):
            while piece := await source.read(_CHUNK_BYTES):
                while self._mode is _Mode.HANG:
                    await self._changed.wait()
                if self._mode is _Mode.SLOW:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._changed.wait(), self._delay_s)
                if self._mode is _Mode.RESET:
                    client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                    client.transport.abort()
                    return
                if self._mode is _Mode.CUT and replies:
                    if since is not self._changed:
                        forwarded_in_cut, since = 0, self._changed
                    piece = piece[: self._cut_after - forwarded_in_cut]
                    forwarded_in_cut += len(piece)
                    target.write(piece)
                    await target.drain()
                    if forwarded_in_cut >= self._cut_after:
                        if self._heals:
                            self._heals = False
                            await self._become(_Mode.PASS)
                        return
                    continue
                target.write(piece)
                await target.drain()
