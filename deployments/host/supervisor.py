"""The supervisor: one small process a home that keeps cluster and application running (DESIGN §7).

Ray restarts replicas by itself, but does not survive the loss of its own head processes. Then the supervisor starts
everything again: all state is in the home folder. Of a service that is silent it restarts the part that stands still
(`diagnosis`).
"""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Container
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
import structlog
from filelock import FileLock, Timeout

from ..config.private_files import make_private_home
from ..config.settings import AppArgs
from ..telemetry.logs import configure_logs
from .cluster import RayHead, has_haproxy, members, ray_environment
from .diagnosis import Diagnosis, Observation, Part, RestartAll, RestartPart, Wait, parts_of
from .haproxy import Frontend, api_socket, status_over_socket
from .hooks import LOOPBACK
from .runtime_folder import runtime_folder

_log = structlog.get_logger(__name__)
_WATCH_S = 1.0
_FIRST_STARTS = 3
_ALIVE_TIMEOUT_S = 5.0
_DEPLOY_S = 300.0
_DRAIN_S = 60.0


@dataclass(frozen=True)
class Endpoint:
    """The address of the service and its supervising process, as stored in `service.json` of the home."""

    host: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{self.host}:{self.port}"


def endpoint_path(home: Path) -> Path:
    """The file that says where the service of this home is."""
    return home / "service.json"


def read_endpoint(home: Path) -> Endpoint | None:
    """The service of this home; None where no supervisor runs."""
    try:
        endpoint = Endpoint(**json.loads(endpoint_path(home).read_text()))
    except (FileNotFoundError, json.JSONDecodeError, TypeError):
        return None
    return endpoint if is_locked(home) else None


def is_locked(home: Path) -> bool:
    """Whether a supervisor runs for this home."""
    try:
        with home_lock(home):
            return False
    except Timeout:
        return True


def home_lock(home: Path) -> FileLock:
    """Held while a supervisor runs, or while nothing may run; raises `filelock.Timeout` where another has it."""
    return FileLock(home / "supervisor.lock", blocking=False)


class DeployFailed(Exception):
    """The service could not be started."""


class Supervisor:
    """Starts cluster and application, watches them, restarts them, stops them on SIGTERM."""

    def __init__(self, args: AppArgs, *, host: str, port: int) -> None:
        self._args = args
        self._endpoint = Endpoint(host, port, os.getpid())
        self._logs = args.log_folder
        frontend = Frontend(host, args.http.connections, args.http.connections_per_client)
        self._head = RayHead(args.data_home, self._logs / "ray.log", frontend)
        self._stopping = False
        self._was_up = False
        self._failed_starts = 0

    def run(self) -> None:
        """Supervises until SIGTERM or SIGINT.

        Raises:
            DeployFailed: The first three starts failed: the settings or the machine are at fault. Once the service was
                up, it is restarted without limit.
        """
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        with home_lock(self._args.data_home):
            endpoint_path(self._args.data_home).write_text(json.dumps(asdict(self._endpoint)))
            try:
                while not self._stopping:
                    self._start_and_watch()
            finally:
                endpoint_path(self._args.data_home).unlink(missing_ok=True)

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _start_and_watch(self) -> None:
        self._head.start()
        try:
            if self._deploy("up", _DEPLOY_S):
                self._was_up = True
                _log.info("service_up", url=self._endpoint.url)
                reason = self._watch()
                _log.info("service_stopping" if self._stopping else "service_lost", reason=reason)
            elif not self._stopping:
                _log.error("deploy_failed", see=str(self._logs / "deploy.log"))
                self._failed_starts += 1
                if not self._was_up and self._failed_starts >= _FIRST_STARTS:
                    raise DeployFailed(f"the service did not start; see {self._logs / 'deploy.log'}")
                time.sleep(_WATCH_S)
            if self._stopping:
                self._deploy("down", _DRAIN_S)
        finally:
            self._head.stop()

    def _deploy(self, action: str, deadline_s: float) -> bool:
        """Runs `deployments.host.deploy` in a process of its own: a Ray driver does not outlive its cluster."""
        request = {
            "args": self._args.to_send(),
            "address": self._head.address,
            "host": self._endpoint.host,
            "port": self._endpoint.port,
        }
        command = [sys.executable, "-m", "deployments.host.deploy", action]
        with (self._logs / "deploy.log").open("ab") as log:
            environment = ray_environment(self._args.data_home)
            process = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment
            )
            assert process.stdin is not None  # noqa: S101 - PIPE above
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
            end = time.monotonic() + deadline_s
            while process.poll() is None and time.monotonic() < end:
                if action == "up" and (self._stopping or not self._head.is_alive()):
                    break
                time.sleep(0.1)
            if process.poll() is None:
                process.kill()
            return process.wait() == 0

    def _watch(self) -> str:
        """Returns the reason when the service is to stop or is lost."""
        diagnosis = Diagnosis()
        seen = Wait()
        while not self._stopping:
            time.sleep(_WATCH_S)
            if not self._head.is_alive():
                return "a head process of the cluster died"
            verdict = diagnosis.judge(self._observe())
            match verdict:
                case RestartAll():
                    return verdict.reason
                case RestartPart():
                    _log.warning("part_restarted", part=verdict.part.value, reason=verdict.reason)
                    for pid in verdict.pids:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                case Wait() if verdict.reason and not seen.reason:
                    _log.warning("service_silent", reason=verdict.reason)
            seen = verdict if isinstance(verdict, Wait) else Wait()
        return "stop requested"

    def _observe(self) -> Observation:
        answers = self._answers()
        machine_busy = psutil.cpu_percent() / 100
        parts = parts_of(members(self._args.data_home))
        ports = () if answers else self._head.ports
        return Observation(
            time.monotonic(),
            answers=answers,
            ingress_answers=any(_ingress_answers(pid, ports) for pid in parts.get(Part.INGRESS, ())),
            cpu_s=parts,
            machine_busy=machine_busy,
        )

    def _answers(self) -> bool:
        """Asks over a socket of our own where HAProxy has one: clients may have taken all connections of the port."""
        if not has_haproxy():
            return _answers(f"{self._endpoint.url}/health/live", accept=200)
        try:
            private = api_socket(runtime_folder(self._args.data_home))
            return status_over_socket(private, "/health/live", timeout_s=_ALIVE_TIMEOUT_S) == 200
        except (OSError, http.client.HTTPException):
            return False


def _ingress_answers(pid: int, ports: Container[int]) -> bool:
    """Whether this replica of the ingress answers on one of the service's ports."""
    with contextlib.suppress(psutil.Error):
        for connection in psutil.Process(pid).net_connections("tcp"):
            is_open = connection.status == psutil.CONN_LISTEN and connection.laddr.port in ports
            if is_open and _answers(f"http://{LOOPBACK}:{connection.laddr.port}/health/live"):
                return True
    return False


def _answers(url: str, *, accept: int | None = None) -> bool:
    """Whether there is a reply, of this status where one is given."""
    try:
        with urllib.request.urlopen(url, timeout=_ALIVE_TIMEOUT_S) as reply:  # noqa: S310 - our own URL
            return accept in (None, reply.status)
    except urllib.error.HTTPError as error:
        return accept in (None, error.code)
    except (OSError, http.client.HTTPException):
        return False


def main() -> None:
    """`python -m deployments.host.supervisor`, with `{args, host, port}` as JSON on standard input."""
    request = json.load(sys.stdin)
    args = AppArgs.received(request["args"])
    make_private_home(args.data_home)
    configure_logs(args.log_folder, "supervisor", args.log_level)
    Supervisor(args, host=request["host"], port=request["port"]).run()


if __name__ == "__main__":
    main()
