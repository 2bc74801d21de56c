"""A block of TCP ports that belongs to one service of this machine while it runs.

The servers behind HAProxy take fixed ports and would share them, without an error, with those of another service: one
user's data would reach another's service. A socket that is bound to its last port, and closes with its process,
reserves a block.
"""

import random
import socket

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
            reservation = _bound(first + _PORTS - 1)
            if reservation is None:
                continue
            if all(_is_free(port) for port in range(first, first + _PORTS - 1)):
                self.first = first
                self._reservation = reservation
                return
            reservation.close()
        raise NoPortsLeft(f"no {_PORTS} TCP ports from {_FIRST} to {_LAST} are free")

    def close(self) -> None:
        """Releases the block."""
        self._reservation.close()

    @property
    def ports(self) -> range:
        """All ports of the block."""
        return range(self.first, self.first + _PORTS)

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
            "DIRECT_INGRESS_MAX_GRPC_PORT": end - 2,
        }
        return {f"RAY_SERVE_{name}": str(port) for name, port in ports.items()}


def _bound(port: int) -> socket.socket | None:
    """A socket bound to the port on every address, on which nobody listens; None where another process holds it."""
    probe = socket.socket()
    try:
        probe.bind(("", port))
    except OSError:
        probe.close()
        return None
    return probe


def _is_free(port: int) -> bool:
    probe = _bound(port)
    if probe is not None:
        probe.close()
    return probe is not None
