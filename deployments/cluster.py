"""A Ray cluster of one machine that belongs to one home: started, watched and ended by its supervisor."""

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_STOP_S = 30.0


def free_port() -> int:
    """A TCP port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def temp_dir(home: Path) -> Path:
    """Where the cluster keeps its sockets and logs: short, because socket paths may have 107 bytes only."""
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:10]
    return Path(tempfile.gettempdir()) / f"jiyi-ray-{digest}"


class RayHead:
    """The head node's processes, in one process group, so that they can be ended together.

    Args:
        home: The data folder that this cluster serves; no two clusters share one.
        log: Where the head's own output goes.
    """

    def __init__(self, home: Path, log: Path) -> None:
        self._home = home
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    def start(self) -> None:
        """Starts the head and returns at once; ports are free ones, so that clusters can stand side by side."""
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        command = [
            str(Path(sys.executable).with_name("ray")),
            *("start", "--head", "--block", "--disable-usage-stats", "--include-dashboard=false"),
            *("--node-ip-address=127.0.0.1", f"--port={port}", f"--temp-dir={temp_dir(self._home)}"),
            f"--object-store-memory={_OBJECT_STORE_BYTES}",
            *(f"--{name}={free_port()}" for name in _PORTS),
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=_environment()
            )

    def is_alive(self) -> bool:
        """Whether the head runs; it ends itself when one of its processes dies."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ends all processes of the cluster."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


_PORTS = (
    "ray-client-server-port",
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
    "node-manager-port",
    "object-manager-port",
)


def _environment() -> dict[str, str]:
    """Ray's own tuning of a small cluster: no usage reports, no workers started ahead of need."""
    return os.environ | {"RAY_enable_worker_prestart": "0", "RAY_USAGE_STATS_ENABLED": "0"}
