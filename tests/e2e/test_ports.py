"""Who can reach a running service: everything but the API needs the home's token, and nothing leaves the machine."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv6Address, ip_address
from pathlib import Path

import grpc
import psutil
import pytest

from deployments.host.cluster import ray_environment, running_address
from deployments.host.haproxy import api_socket, status_over_socket
from deployments.host.runtime_folder import runtime_folder, token_path
from jiyi.service import load_settings
from tests.e2e.conftest import Service

pytestmark = pytest.mark.e2e


def listening(service: Service) -> dict[tuple[str, int], str]:
    """The TCP and UDP sockets of all its processes that somebody could send something to, and the process of each."""
    found = {}
    for process in service.processes():
        for connection in psutil.Process(process.pid).net_connections("inet"):
            is_datagram = connection.type == socket.SOCK_DGRAM and not connection.raddr
            if connection.status == psutil.CONN_LISTEN or is_datagram:
                address = ip_address(connection.laddr.ip)
                mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
                found[str(mapped or address), connection.laddr.port] = process.name
    return found


def test_every_socket_of_every_process_is_on_loopback(service: Service) -> None:
    sockets = listening(service)
    assert ("127.0.0.1", service.port) in sockets
    assert len(sockets) > 10
    assert {address: name for address, name in sockets.items() if not ip_address(address[0]).is_loopback} == {}


def test_the_supervisor_asks_over_a_socket_that_no_client_can_occupy(service: Service) -> None:
    assert status_over_socket(api_socket(runtime_folder(service.home)), "/health/live", timeout_s=10) == 200


def test_no_ray_client_server_runs(service: Service) -> None:
    commands = [" ".join(psutil.Process(process.pid).cmdline()) for process in service.processes()]
    assert any("gcs_server" in command for command in commands)
    assert not any("ray.util.client.server" in command for command in commands)


def _connect(service: Service, **changed: str) -> subprocess.CompletedProcess[str]:
    """Runs a task in the service's cluster, as somebody who knows its address may try."""
    code = (
        "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False);"
        "print('ran', ray.get(ray.remote(num_cpus=0)(lambda: 42).remote()))"
    )
    environment = {**os.environ, **ray_environment(service.home), **changed}
    return subprocess.run(
        [sys.executable, "-c", code, running_address(service.home)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_ray_runs_nothing_for_somebody_without_the_token(service: Service, tmp_path: Path) -> None:
    wrong = tmp_path / "token"
    wrong.write_text("0" * 64)
    environments = ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_TOKEN_PATH": str(wrong)})
    with ThreadPoolExecutor(len(environments)) as strangers:  # together: Ray takes twenty seconds to give one up
        tried = list(strangers.map(lambda environment: _connect(service, **environment), environments))
    for done in tried:
        assert done.returncode != 0
        assert "ran" not in done.stdout
        assert "nauthenticated" in done.stderr
    assert "ran 42" in _connect(service).stdout


def _status(address: str, metadata: tuple[tuple[str, str], ...]) -> grpc.StatusCode | None:
    """What a call between deployments is answered; None for a reply."""
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary("/ray.serve.ASGIService/HandleRequest")
        try:
            call(b"", metadata=metadata, timeout=5)
        except grpc.RpcError as error:
            return error.code()
    return None


def test_a_replica_refuses_a_call_without_the_token(service: Service) -> None:
    token = (("authorization", f"Bearer {token_path(service.home).read_text()}"),)
    addresses = {f"{ip}:{port}" for (ip, port), name in listening(service).items() if name.startswith("ServeReplica")}
    elsewhere = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAVAILABLE)  # Ray's own servers; HTTP
    servers = [address for address in addresses if _status(address, token) not in elsewhere]
    replicas = [process for process in service.processes() if process.name.startswith("ServeReplica")]
    assert len(servers) == len(replicas)
    assert {_status(address, ()) for address in servers} == {grpc.StatusCode.UNAUTHENTICATED}


def test_nobody_else_may_enter_the_folder_of_the_sockets_or_read_a_file_of_the_home(service: Service) -> None:
    folder = runtime_folder(service.home)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    sockets = [path for path in folder.rglob("*") if path.is_socket()]
    assert {"admin.sock", "raylet"} <= {path.name for path in sockets}
    admins = [path for path in sockets if path.name == "admin.sock"]  # one more for each start of this service before
    assert {stat.S_IMODE(admin.stat().st_mode) for admin in admins} == {0o600}
    files = [path for path in service.home.rglob("*") if path.is_file() and not path.is_symlink()]
    assert token_path(service.home) in files
    assert [path for path in files if path.stat().st_mode & 0o077] == []


def _begin(stack: contextlib.ExitStack, service: Service, sent: bytes, source: str = "127.0.0.1") -> socket.socket:
    """A connection of a client that sends this and no more."""
    client = stack.enter_context(socket.socket())
    client.settimeout(60)
    client.bind((source, 0))
    with contextlib.suppress(ConnectionError):
        client.connect(("127.0.0.1", service.port))
        client.sendall(sent)
    return client


def _first_line(client: socket.socket) -> bytes:
    """Of the reply; nothing where the connection is closed without one."""
    try:
        return client.recv(4096).partition(b"\r\n")[0]
    except ConnectionError:
        return b""


def test_a_client_that_takes_all_its_connections_takes_them_from_nobody_else(service: Service) -> None:
    limit = load_settings(service.home).http.connections_per_client
    with contextlib.ExitStack() as stack:
        clients = [_begin(stack, service, b"GET") for _ in range(limit + 20)]
        other = _begin(stack, service, b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n", "127.0.0.2")
        assert _first_line(other) == b"HTTP/1.1 200 OK"
        end = time.monotonic() + 10  # until the others time out
        while (refused := sum(map(_is_closed, clients))) < 20:
            assert time.monotonic() < end, refused
            time.sleep(0.05)
        assert refused < 40  # the test's own client may still have some


def _is_closed(client: socket.socket) -> bool:
    """Whether its connection has been ended without a reply, as far as is known by now."""
    client.setblocking(False)
    try:
        return not _first_line(client)
    except BlockingIOError:
        return False


def test_slow_headers_and_a_body_that_does_not_come_are_cut_off(service: Service) -> None:
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        stalled = _begin(stack, service, b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90\r\n\r\n{")
        slow = _begin(stack, service, b"GET /health/live HTTP/1.1\r\nX-Slow: ")
        slow.settimeout(1)
        reply = None
        while reply is None and time.monotonic() - begin < 60:
            with contextlib.suppress(TimeoutError):
                slow.sendall(b"a")
                reply = _first_line(slow)
        assert reply == b"HTTP/1.1 408 Request Time-out"
        assert _first_line(stalled) == reply
