"""Starts HAProxy with the configuration that Ray Serve wrote, less what is open in it.

Serve has no option for the address of HAProxy's statistics and metrics, for the mode of its administration socket, for
the time that a client may take to send a request, for how many connections a client may have, and for what HAProxy
replies by itself: Serve makes a 500 in plain text of every 502, 503 and 504, as while the ingress is being restarted or
too busy for its health check. It can be told which binary to start: a launcher that runs this file, which needs nothing
but the standard library.
"""

import http.client
import json
import os
import re
import shlex
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LOOPBACK = "127.0.0.1"
_FRONTEND = "frontend http_frontend"
_NO_BACKEND = "backend default_backend"
"""Where requests go until Serve has told HAProxy of the ingress, which takes every path."""
_OF_REQUESTS = ("timeout http-request", "option http-buffer-request")
_REQUEST_S = 15
"""For a request's headers, and for its body or the first buffer of it (16 KiB); `timeout client` bounds the rest."""
_FORWARDED = "option forwardfor except 127.0.0.0/8"
"""The ingress counts wrong credentials by client address; a proxy on this machine has said it already."""
_AWAY = (500, 502, 503, 504)
"""Statuses that HAProxy gives by itself where the ingress does not answer."""
_REPLY = "away.http"
_SOCKET = "api.sock"
_OURS = ("stick-table ", "tcp-request connection ", "bind unix@")
_SPARE_CONNECTIONS = 64
"""For the statistics, the metrics and the supervisor, and to refuse whoever comes when all others are taken."""


class UnknownConfiguration(Exception):
    """The configuration is not the one of this Serve: a listener or a socket would be left open."""


@dataclass(frozen=True)
class Frontend:
    """Where clients are served, and how many.

    Attributes:
        host: The address; everything else is on loopback.
        connections: Connections of all clients together; a further one is refused.
        connections_per_client: Connections of one client address; 0: any number.
    """

    host: str
    connections: int
    connections_per_client: int


def api_socket(folder: Path) -> Path:
    """The socket of the API for the supervisor, in the folder of the configuration: no client can take its place."""
    return folder / _SOCKET


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = str(path)

    def connect(self) -> None:
        """Connects to the socket; the name is for the Host header."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def status_over_socket(path: Path, target: str, *, timeout_s: float) -> int:
    """The status of the reply to `GET target` on the socket of the API.

    Raises:
        OSError, http.client.HTTPException: There is none.
    """
    connection = _SocketConnection(path, timeout_s)
    try:
        connection.request("GET", target)
        return connection.getresponse().status
    finally:
        connection.close()


def write_launcher(folder: Path, binary: str, frontend: Frontend) -> Path:
    """Writes the executable that Serve starts in place of HAProxy.

    Args:
        folder: A private folder.
        binary: HAProxy's.
        frontend: Where clients are served.
    """
    launcher = folder / "haproxy"
    numbers = (str(frontend.connections), str(frontend.connections_per_client))
    script = str(Path(__file__).resolve())
    command = shlex.join([sys.executable, "-I", script, binary, str(folder), frontend.host, *numbers])
    launcher.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    launcher.chmod(0o700)
    return launcher


def write_reply(folder: Path) -> None:
    """Writes what HAProxy replies where the ingress does not answer, as raw HTTP: 503 with a problem."""
    problem = {
        "type": "about:blank",
        "title": "Unavailable",
        "status": 503,
        "detail": "the ingress does not answer; send the request again",
        "component": "ingress",
    }
    body = json.dumps(problem)
    head = (
        "HTTP/1.1 503 Service Unavailable",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        "Retry-After: 1",
        "Cache-Control: no-store",
    )
    (folder / _REPLY).write_text("\r\n".join([*head, "", body]))


def restrict(configuration: str, frontend: Frontend, folder: Path) -> str:
    """The configuration with nothing but the frontend on its address, private sockets, time-outs, limits and our reply.

    Args:
        configuration: As Serve wrote it.
        frontend: Where clients are served.
        folder: Where the reply is (`write_reply`) and the socket will be (`api_socket`).

    Raises:
        UnknownConfiguration: It has a socket, a frontend, limits or defaults other than expected.
    """
    lines = list(_restricted_lines(configuration.splitlines(), frontend, folder))
    words = ("stats socket ", "timeout http-request ", "maxconn ", "bind unix@")
    found = {word: sum(line.strip().startswith(word) for line in lines) for word in words}
    if set(found.values()) != {1}:
        raise UnknownConfiguration(f"expected one line of each: {found}")
    return "\n".join(lines) + "\n"


def _restricted_lines(lines: list[str], frontend: Frontend, folder: Path) -> Iterator[str]:
    section = ""
    for line in lines:
        if line and not line[0].isspace():
            section = line.strip()
        if line.strip().startswith("stats socket "):
            line, changes = re.subn(r" mode \d+ ", " mode 600 ", line)
            if not changes:
                raise UnknownConfiguration(f"unknown socket: {line.strip()}")
        elif section == "global" and line.strip().startswith("maxconn "):
            line = f"    maxconn {frontend.connections + _SPARE_CONNECTIONS}"
        elif section == _FRONTEND and line.strip().startswith(_OURS):
            continue
        elif line.strip().startswith("bind "):
            line, changes = re.subn(
                r"bind \S*:(\d+)", rf"bind {frontend.host if section == _FRONTEND else _LOOPBACK}:\1", line, count=1
            )
            if not changes:
                raise UnknownConfiguration(f"unknown listener: {line.strip()}")
        elif section == "defaults" and line.strip().startswith((*_OF_REQUESTS, _FORWARDED, "errorfile ")):
            continue
        elif section == _NO_BACKEND and line.strip().startswith("http-request return status 404 "):
            line = "    http-request deny deny_status 503"
        yield line
        if section == "defaults" and line.strip() == "mode http":
            yield f"    {_OF_REQUESTS[0]} {_REQUEST_S}s"
            yield f"    {_OF_REQUESTS[1]}"
            yield f"    {_FORWARDED}"
            yield from (f"    errorfile {status} {folder / _REPLY}" for status in _AWAY)
        elif section == _FRONTEND and line.strip().startswith("bind "):
            yield from _limits(frontend, api_socket(folder))


def _limits(frontend: Frontend, private: Path) -> Iterator[str]:
    """The lines of the frontend that refuse connections at once: `maxconn` would let them wait until others end.

    The supervisor's have no address and are never refused.
    """
    yield f"    bind unix@{private} mode 600"
    yield f"    tcp-request connection reject if {{ src -m found }} {{ fe_conn gt {frontend.connections} }}"
    if frontend.connections_per_client:
        yield "    stick-table type ipv6 size 64k expire 1m store conn_cur"
        yield "    tcp-request connection track-sc0 src"
        yield f"    tcp-request connection reject if {{ sc0_conn_cur gt {frontend.connections_per_client} }}"


def main() -> None:
    """`haproxy.py BINARY FOLDER HOST CONNECTIONS CONNECTIONS_PER_CLIENT …`, with HAProxy's own arguments; becomes it.

    FOLDER is that of the launcher, where the supervisor looks for its socket; Serve keeps the configuration below it.
    The file keeps its path: Serve knows its HAProxy processes by that in their command lines.
    """
    binary, private, host, connections, connections_per_client, *arguments = sys.argv[1:]
    frontend = Frontend(host, int(connections), int(connections_per_client))
    path = Path(arguments[arguments.index("-f") + 1])
    new = path.with_name(f"{path.name}.closed")
    folder = Path(private)
    write_reply(folder)
    new.write_text(restrict(path.read_text(), frontend, folder))
    new.replace(path)
    os.execv(binary, [binary, *arguments])  # noqa: S606 - our own binary


if __name__ == "__main__":
    main()
