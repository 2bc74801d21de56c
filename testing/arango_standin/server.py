"""The stand-in as an HTTP server on the loopback interface, with faults that tests can set."""

from __future__ import annotations

import base64
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from typing_extensions import override

from .api import SYSTEM_DATABASE, Api, Reply, Request
from .database.errors import ServerError
from .database.values import dumps

_POLL_S = 0.02


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "ArangoDB"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _HttpServer

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        stand_in = self.server.stand_in
        reply = stand_in.answer(str(self.command), str(self.path), {k.lower(): v for k, v in self.headers.items()}, raw)
        if reply is None:
            self.close_connection = True
            return
        status, body = reply
        encoded = dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _answer  # noqa: N815

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, stand_in: ArangoStandIn, port: int) -> None:
        self.stand_in = stand_in
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    @override
    def server_bind(self) -> None:
        """Bind without resolving the host name, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    @override
    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show the stand-in's own errors, but not that a client has disconnected."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def drop_connections(self) -> None:
        """Close all kept-alive connections."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                self._connections.discard(connection)


class ArangoStandIn:
    """A stand-in for an ArangoDB server.

    Use it as a context manager, or call `start` and `stop`. After `stop` its port refuses connections; `start` opens
    the same port again, with its data unchanged.

    Args:
        password: The password of the user root; every other name or password gets 401.

    Attributes:
        delay_s: How long each reply waits.
        password: May be changed while it runs.
    """

    def __init__(self, *, password: str = "") -> None:
        self.password = password
        self.delay_s = 0.0
        self._api = Api()
        self._faults: list[ServerError] = []
        self._faults_path = ""
        self._lose_replies = 0
        self._thawed = threading.Event()
        self._thawed.set()
        self._port = 0
        self._http: _HttpServer | None = None
        self._thread: threading.Thread | None = None

    # lifecycle

    def start(self) -> ArangoStandIn:
        """Open the port and serve; a running server stays as it is."""
        if self._http is not None:
            return self
        self._http = _HttpServer(self, self._port)
        self._port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(_POLL_S,), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Close the port and all connections, without answering current requests; the data stay."""
        self._thawed.set()
        if self._http is not None and self._thread is not None:
            self._http.shutdown()
            self._http.drop_connections()
            self._http.server_close()
            self._thread.join()
            self._http = self._thread = None

    def __enter__(self) -> ArangoStandIn:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL; valid after `start`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def version(self) -> str:
        """The ArangoDB version that the stand-in reports."""
        return self._api.version

    @version.setter
    def version(self, version: str) -> None:
        self._api.version = version

    @property
    def read_only(self) -> bool:
        """Whether writes fail with 1004, as in the server's read-only mode."""
        return self._api.read_only

    @read_only.setter
    def read_only(self, read_only: bool) -> None:
        self._api.read_only = read_only

    @property
    def idle_timeout_s(self) -> float:
        """How long a stream transaction may stay unused before it is aborted; 60 s as on a server."""
        return self._api.idle_timeout_s

    @idle_timeout_s.setter
    def idle_timeout_s(self, seconds: float) -> None:
        self._api.idle_timeout_s = seconds

    def reset(self) -> None:
        """Drop all data and all faults; the server keeps running."""
        self._api.reset()
        self._faults = []
        self._lose_replies = 0
        self.delay_s = 0.0
        self._api.read_only = False
        self._thawed.set()

    # faults

    def fail_next(
        self, error_num: int, code: int | None = None, *, times: int = 1, path: str = "", message: str = "injected"
    ) -> None:
        """Answer the next requests with an error, without doing anything.

        Args:
            error_num: ArangoDB's error number.
            code: HTTP status; by default that of the error number.
            times: How many requests fail.
            path: Fail only requests whose path contains this, such as "/_api/cursor".
            message: The error message.
        """
        self._faults += [ServerError(error_num, message, code)] * times
        self._faults_path = path

    def clear_faults(self) -> None:
        """Drop the errors that `fail_next` has queued."""
        self._faults = []

    def lose_next_reply(self, times: int = 1) -> None:
        """Do what the next requests ask, but cut the connection instead of answering."""
        self._lose_replies += times

    def freeze(self) -> None:
        """Answer no request until `thaw`; requests are accepted and wait."""
        self._thawed.clear()

    def thaw(self) -> None:
        """Answer again, including the requests that wait."""
        self._thawed.set()

    # requests

    def answer(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Reply | None:
        """Answer one HTTP request.

        Returns:
            Status and body, or None to cut the connection.
        """
        self._thawed.wait()
        if self.delay_s:
            time.sleep(self.delay_s)
        try:
            if self._faults and self._faults_path in target:
                raise self._faults.pop(0)
            self._authorize(headers.get("authorization", ""))
            reply = self._api.answer(_request(method, target, headers, raw))
        except ServerError as error:
            reply = error.status, error.body()
        if self._lose_replies:
            self._lose_replies -= 1
            return None
        return reply

    def _authorize(self, header: str) -> None:
        expected = base64.b64encode(f"root:{self.password}".encode()).decode()
        if header != f"Basic {expected}":
            raise ServerError(11, "not authorized to execute this request", 401)


def _request(method: str, target: str, headers: dict[str, str], raw: bytes) -> Request:
    url = urlsplit(target)
    parts = [unquote(part) for part in url.path.strip("/").split("/")]
    database = SYSTEM_DATABASE
    if len(parts) > 1 and parts[0] == "_db":
        database, parts = parts[1], parts[2:]
    if not parts or parts[0] != "_api":
        raise ServerError(404, f"unknown path '{url.path}'", 404)
    return Request(method, database, tuple(parts[1:]), dict(parse_qsl(url.query)), headers, raw)
