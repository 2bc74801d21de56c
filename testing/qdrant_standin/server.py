"""The stand-in behind a real socket, with what a server can do wrong."""

import asyncio
import socket
import threading
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from .api import Engine, make_api


@dataclass
class Faults:
    """What goes wrong until it is changed; nothing, as it is made.

    Args:
        api_keys: Keys that may do everything; with none, everybody may.
        reading_keys: Keys that may not write.
        version: What the server calls itself, instead of its version.
        reply: Status and body of every reply but the version's,
        headers: and its headers.
        only: Replies and deaths hit only paths that hold this,
        after: and so many of them go well first.
        delay_s: How long every reply takes.
        dies: The connection breaks in the middle of every reply.
    """

    api_keys: tuple[str, ...] = ()
    reading_keys: tuple[str, ...] = ()
    version: str | None = None
    reply: tuple[int, bytes] | None = None
    only: str = ""
    after: int = 0
    delay_s: float = 0.0
    dies: bool = False
    headers: dict[str, str] = field(default_factory=dict)

    def is_due(self) -> bool:
        """Whether this request is hit."""
        self.after -= 1
        return self.after < 0


class QdrantStandIn:
    """Serves on a port of this machine, from a thread, until it is stopped; `start` again keeps port and data."""

    def __init__(self) -> None:
        self.engine = Engine()
        self.faults = Faults()
        self.seen: list[str] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when it listens."""
        config = uvicorn.Config(
            self._faulty(make_api(self.engine)), host="127.0.0.1", port=self._port, log_level="critical", lifespan="off"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.005)

    def stop(self) -> None:
        """Returns when nothing listens any more."""
        self._server.force_exit = True
        self._server.should_exit = True
        self._thread.join()

    def reset(self) -> None:
        """Forgets everything and does nothing wrong."""
        self.engine.reset()
        self.faults = Faults()
        self.seen = []

    def _faulty(self, app: ASGIApp) -> ASGIApp:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            faults = self.faults
            path, method = scope["path"], scope["method"]
            self.seen.append(f"{method} {path}")
            await asyncio.sleep(faults.delay_s)
            refusal = self._refusal(scope)
            if refusal is not None:
                await _reply(send, *refusal, {})
            elif path == "/" and faults.version is not None:
                await _reply(send, 200, f'{{"title": "qdrant", "version": "{faults.version}"}}'.encode(), {})
            elif path == "/" or faults.only not in path or not faults.is_due():
                await app(scope, receive, send)
            elif faults.dies:
                start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"999")]}
                await send(start)
                await send({"type": "http.response.body", "body": b'{"result": {', "more_body": False})
            elif faults.reply is not None:
                await _reply(send, *faults.reply, faults.headers)
            else:
                await app(scope, receive, send)

        return serve

    def _refusal(self, scope: Scope) -> tuple[int, bytes] | None:
        faults = self.faults
        if scope["path"] == "/" or not (faults.api_keys or faults.reading_keys):
            return None  # the version is free for all
        key = dict(scope["headers"]).get(b"api-key", b"").decode()
        if key in faults.api_keys:
            return None
        if key not in faults.reading_keys:
            return 401, b"Must provide an API key or an Authorization bearer token"
        reads = ("/points", "/query/batch", "/scroll", "/count", "/facet")
        if scope["method"] == "GET" or (scope["method"] == "POST" and scope["path"].endswith(reads)):
            return None
        return 403, b'{"status": {"error": "Forbidden: Global manage access is required"}, "time": 0.0}'


async def _reply(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    listed: Any = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})
    await send({"type": "http.response.body", "body": body})
