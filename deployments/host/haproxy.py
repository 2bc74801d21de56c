"""Starts HAProxy with the configuration that Ray Serve wrote, less what is open in it.

Serve has no option for the address of HAProxy's statistics and metrics, for the mode of its administration socket, and
for the time that a client may take to send a request. It can be told which binary to start: a launcher that runs this
file, which needs nothing but the standard library.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

_LOOPBACK = "127.0.0.1"
_FRONTEND = "frontend http_frontend"
_OF_REQUESTS = ("timeout http-request", "option http-buffer-request")
_REQUEST_S = 15
"""For a request's headers, and for its body or the first buffer of it (16 KiB); `timeout client` bounds the rest."""


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


def closed(configuration: str, host: str) -> str:
    """The configuration with nothing but the frontend on `host`, a private socket, and time-outs.

    Raises:
        OpenConfiguration: It has a socket, a frontend or defaults other than expected.
    """
    lines = list(_closed_lines(configuration.splitlines(), host))
    found = [sum(line.strip().startswith(word) for line in lines) for word in ("stats socket", "timeout http-request")]
    if found != [1, 1]:
        raise OpenConfiguration(f"{found} administration sockets and time-outs of requests, expected one of each")
    return "\n".join(lines) + "\n"


def _closed_lines(lines: list[str], host: str) -> Iterator[str]:
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
        elif section == "defaults" and line.strip().startswith(_OF_REQUESTS):
            continue
        yield line
        if section == "defaults" and line.strip() == "mode http":
            yield f"    {_OF_REQUESTS[0]} {_REQUEST_S}s"
            yield f"    {_OF_REQUESTS[1]}"


def main() -> None:
    """`haproxy.py BINARY HOST …`, with HAProxy's own arguments; becomes HAProxy.

    The file keeps its path: Serve knows its HAProxy processes by that in their command lines.
    """
    binary, host, *arguments = sys.argv[1:]
    path = Path(arguments[arguments.index("-f") + 1])
    new = path.with_name(f"{path.name}.closed")
    new.write_text(closed(path.read_text(), host))
    new.replace(path)
    os.execv(binary, [binary, *arguments])  # noqa: S606 - our own binary


if __name__ == "__main__":
    main()
