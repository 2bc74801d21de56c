"""Starts HAProxy with the configuration that Ray Serve wrote, less what is open in it.

Serve has no option for the address of HAProxy's statistics and metrics, for the mode of its administration socket, for
the time that a client may take to send a request, and for what HAProxy replies by itself: Serve makes a 500 in plain
text of every 502, 503 and 504, as while the ingress is being restarted or too busy for its health check. It can be told
which binary to start: a launcher that runs this file, which needs nothing but the standard library.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
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


class OpenConfiguration(Exception):
    """The configuration is not the one of this Serve: a listener or a socket would be left open."""


def write_launcher(folder: Path, binary: str, host: str) -> Path:
    """Writes the executable that Serve starts in place of HAProxy.

    Args:
        folder: A private folder.
        binary: HAProxy's.
        host: The address on which clients are served; everything else is on loopback.
    """
    launcher = folder / "haproxy"
    command = shlex.join([sys.executable, "-I", str(Path(__file__).resolve()), binary, host])
    launcher.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    launcher.chmod(0o700)
    return launcher


def write_reply(folder: Path) -> Path:
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
    path = folder / "away.http"
    path.write_text("\r\n".join([*head, "", body]))
    return path


def closed(configuration: str, host: str, reply: Path) -> str:
    """The configuration with nothing but the frontend on `host`, a private socket, time-outs, and a reply of ours.

    Args:
        configuration: As Serve wrote it.
        host: The address of the frontend.
        reply: What HAProxy replies where the ingress does not answer (`write_reply`).

    Raises:
        OpenConfiguration: It has a socket, a frontend or defaults other than expected.
    """
    lines = list(_closed_lines(configuration.splitlines(), host, reply))
    found = [sum(line.strip().startswith(word) for line in lines) for word in ("stats socket", "timeout http-request")]
    if found != [1, 1]:
        raise OpenConfiguration(f"{found} administration sockets and time-outs of requests, expected one of each")
    return "\n".join(lines) + "\n"


def _closed_lines(lines: list[str], host: str, reply: Path) -> Iterator[str]:
    section = ""
    for line in lines:
        if line and not line[0].isspace():
            section = line.strip()
        if line.strip().startswith("stats socket "):
            line, changes = re.subn(r" mode \d+ ", " mode 600 ", line)
            if not changes:
                raise OpenConfiguration(f"unknown socket: {line.strip()}")
        elif line.strip().startswith("bind "):
            line, changes = re.subn(
                r"bind \S*:(\d+)", rf"bind {host if section == _FRONTEND else _LOOPBACK}:\1", line, count=1
            )
            if not changes:
                raise OpenConfiguration(f"unknown listener: {line.strip()}")
        elif section == "defaults" and line.strip().startswith((*_OF_REQUESTS, "errorfile ")):
            continue
        elif section == _NO_BACKEND and line.strip().startswith("http-request return status 404 "):
            line = "    http-request deny deny_status 503"
        yield line
        if section == "defaults" and line.strip() == "mode http":
            yield f"    {_OF_REQUESTS[0]} {_REQUEST_S}s"
            yield f"    {_OF_REQUESTS[1]}"
            yield f"    {_FORWARDED}"
            yield from (f"    errorfile {status} {reply}" for status in _AWAY)


def main() -> None:
    """`haproxy.py BINARY HOST …`, with HAProxy's own arguments; becomes HAProxy.

    The file keeps its path: Serve knows its HAProxy processes by that in their command lines.
    """
    binary, host, *arguments = sys.argv[1:]
    path = Path(arguments[arguments.index("-f") + 1])
    new = path.with_name(f"{path.name}.closed")
    new.write_text(closed(path.read_text(), host, write_reply(path.parent)))
    new.replace(path)
    os.execv(binary, [binary, *arguments])  # noqa: S606 - our own binary


if __name__ == "__main__":
    main()
