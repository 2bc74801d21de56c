"""A block of TCP ports that belongs to one service of this machine as long as it runs.

What stands behind HAProxy takes fixed ports, shares them without complaint with that of another service, and then
answers for it: one user's data would reach another's service. A lock on a file, which ends with its process, says whose
a block is.
"""

import random
import socket
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout

_FIRST = 20_000
_LAST = 32_768
"""Above the ports of Ray's workers, below those that systems give to outgoing connections."""
_PORTS = 256


class NoPortsLeft(Exception):
    """Every block is some service's, or somebody listens in it."""


class PortBlock:
    """Ports `first` to `first + 255`; claimed when this is made, given back by `close` or the end of the process.

    Raises:
        NoPortsLeft: There is no free block.
    """

    def __init__(self) -> None:
        firsts = range(_FIRST, _LAST - _PORTS + 1, _PORTS)
        for first in random.sample(firsts, len(firsts)):
            lock = _locked(Path(tempfile.gettempdir()) / f"jiyi-ports-{first}")
            if lock is None:
                continue
            if _nobody_listens(first):
                self.first = first
                self._lock = lock
                return
            lock.release()
        raise NoPortsLeft(f"no {_PORTS} TCP ports from {_FIRST} to {_LAST} are free")

    def close(self) -> None:
        """Gives the block back."""
        self._lock.release()

    def environment(self) -> dict[str, str]:
        """The ports of Serve's HAProxy and of all that it sends requests to."""
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


def _nobody_listens(first: int) -> bool:
    for port in range(first, first + _PORTS):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                return False
    return True
