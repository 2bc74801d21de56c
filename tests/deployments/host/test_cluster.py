"""A cluster's ports and processes: no two servers share a port, and no process outlives its cluster."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deployments.host.cluster import RAY_ENVIRONMENT, RayHead, free_ports, members, ray_environment
from deployments.host.haproxy import Frontend
from deployments.host.runtime_folder import token_path

_FRONTEND = Frontend("127.0.0.1", connections=64, connections_per_client=0)
_MARK = "JIYI_CLUSTER"
_SILENT = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.fixture
def left_over(tmp_path: Path) -> Iterator[list[int]]:
    """What an agent of Ray does: it has another parent than the head, hears no signal and writes its own title."""
    child = f"import signal, time; {_SILENT}; print(flush=True); time.sleep(600)"
    parent = (
        "import subprocess, sys;"
        f"process = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=-1, stderr=-3);"  # PIPE, DEVNULL
        "process.stdout.readline(); print(process.pid, flush=True)"
    )
    environment = os.environ | RAY_ENVIRONMENT | {_MARK: str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", parent], env=environment, capture_output=True, text=True, check=True
    )
    pids = [int(process.stdout)]
    yield pids
    for pid in pids:
        if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            psutil.Process(pid).kill()


def test_ports_are_different_and_free() -> None:
    ports = free_ports(200)
    assert len(set(ports)) == 200
    for port in ports[:20]:
        with socket.socket() as server:
            server.bind(("127.0.0.1", port))


def test_an_orphan_that_hears_no_signal_is_ended_with_its_cluster(tmp_path: Path, left_over: list[int]) -> None:
    assert [process.pid for process in members(tmp_path)] == left_over
    RayHead(tmp_path, tmp_path / "ray.log", _FRONTEND).stop()
    assert members(tmp_path) == []


def test_a_process_of_another_home_is_left_alone(tmp_path: Path, left_over: list[int]) -> None:
    RayHead(tmp_path / "other", tmp_path / "ray.log", _FRONTEND).stop()
    assert [process.pid for process in members(tmp_path)] == left_over


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere titles are written differently")
@pytest.mark.parametrize(("variable", "is_found"), [("1", True), (None, False)])
def test_a_process_keeps_its_mark_when_it_writes_its_title(
    tmp_path: Path, variable: str | None, is_found: bool
) -> None:
    """Ray's agents do; two of them outlived a raylet that had become a zombie, since nobody saw whose they were."""
    environment = os.environ | {_MARK: str(tmp_path)} | ({"SPT_NOENV": variable} if variable else {})
    if variable is None:
        environment.pop("SPT_NOENV", None)
    code = "from ray._raylet import setproctitle; setproctitle('ray::DashboardAgent' * 200); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found_members = members(tmp_path)
        process.kill()
    assert (process.pid in [member.pid for member in found_members]) is is_found


def test_every_process_of_a_cluster_is_started_so_that_it_keeps_its_mark() -> None:
    assert RAY_ENVIRONMENT["SPT_NOENV"] == "1"


def test_what_the_environment_says_about_serve_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_SERVE_CONTROL_LOOP_INTERVAL_S", "0.1")
    monkeypatch.setenv("RAY_worker_niceness", "15")
    environment = ray_environment(tmp_path)
    assert environment["RAY_SERVE_CONTROL_LOOP_INTERVAL_S"] == "0.1"
    assert environment["RAY_worker_niceness"] == "0"
    assert environment.keys() >= os.environ.keys() | RAY_ENVIRONMENT.keys()


def test_a_token_of_another_cluster_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of another cluster")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/of/another/cluster")
    environment = ray_environment(tmp_path)
    assert environment["RAY_AUTH_MODE"] == "token"
    assert environment["RAY_AUTH_TOKEN_PATH"] == str(token_path(tmp_path))
    assert "RAY_AUTH_TOKEN" not in environment
