"""A block of TCP ports that belongs to one service of this machine while it runs.

The servers behind HAProxy take fixed ports and would share them, without an error, with those of another service: one
user's data would reach another's service. A file lock, which ends with its process, reserves a block.
"""

import random
import socket
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

_FIRST = 20_000
_LAST = 32_768
"""Above the ports of Ray's workers, below the ports of outgoing connections."""
_PORTS = 256


class NoPortsLeft(Exception):
    """Every block is reserved by a service, or a process listens in it."""


class PortBlock:
    """Ports `first` to `first + 255`; reserved by the constructor until `close` or the end of the process.

    Raises:
        NoPortsLeft: There is no free block.
    """

    def __init__(self) -> None:
        firsts = range(_FIRST, _LAST - _PORTS + 1, _PORTS)
        for first in random.sample(firsts, len(firsts)):
            lock = _locked(Path(tempfile.gettempdir()) / f"jiyi-ports-{first}")
            if lock is None:
                continue
            if _is_free(first):
                self.first = first
                self._lock = lock
                return
            lock.release()
        raise NoPortsLeft(f"no {_PORTS} TCP ports from {_FIRST} to {_LAST} are free")

    def close(self) -> None:
        """Releases the block."""
        self._lock.release()

    def environment(self) -> dict[str, str]:
        """The ports of Serve's HAProxy and of the servers behind it, as environment variables."""
        http, grpc, end = self.first + 4, self.first + _PORTS // 2, self.first + _PORTS
        ports = {
            "FALLBACK_PROXY_HTTP_PORT": self.first,
            "FALLBACK_PROXY_GRPC_PORT": self.first + 1,
            "HAPROXY_STATS_PORT": self.first + 2,
            "HAPROXY_METRICS_PORT": self.first + 3,
            "DIRECT_INGRESS_MIN_HTTP_PORT": http,
            "DIRECT_INGRESS_MAX_HTTP_PORT": grpc - 1,
            "DIRECT_INGRESS_MIN_GRPC_PORT": grpc,
            "DIRECT_INGRESS_MAX_GRPC_PORT": end - 1,
        }
        return {f"RAY_SERVE_{name}": str(port) for name, port in ports.items()}


def _locked(path: Path) -> FileLock | None:
    """A lock on the file; None where another process holds it, or the file is another user's."""
    lock = FileLock(path, blocking=False, thread_local=False)
    try:
        lock.acquire()
    except (Timeout, PermissionError):
        return None
    return lock


def _is_free(first: int) -> bool:
    for port in range(first, first + _PORTS):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                return False
    return True
