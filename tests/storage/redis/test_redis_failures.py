"""What a user of Redis sees when it fails: real servers that refuse, and a network that breaks."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

from memory.values.errors import StoreUnavailable
from storage.redis.binary import find_server_binary
from storage.redis.client import RedisClient
from storage.redis.coordination import RedisLocks, RedisRateLimiter
from storage.redis.sessions import RedisSessions
from testing.fault_proxy import FaultProxy

Servers = Callable[..., str]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Starts servers, each with a socket of its own; returns its URL when it can be connected to."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str, folder: Path = tmp_path) -> str:
        path = tmp_path / f"{len(started)}.sock"
        command = [str(find_server_binary()), "--port", "0", "--unixsocket", str(path), "--dir", str(folder)]
        started.append(subprocess.Popen([*command, "--save", "", *options], stdout=subprocess.DEVNULL))
        give_up = time.monotonic() + 60
        while not path.is_socket():
            assert time.monotonic() < give_up
            time.sleep(0.01)
        return f"unix://{path}"

    yield start
    for server in started:
        server.kill()
        server.wait()


def as_admin(url: str, *command: str) -> Any:
    with Redis.from_url(url) as client:
        return client.execute_command(*command)


async def refusals(url: str, make: SimpleNamespace) -> set[str]:
    """What every writer says about the server."""
    client = RedisClient(url)
    said = set()
    for answer in (
        RedisSessions(client).append("s", user_id="ann", turns=[make.turn("a")]),
        RedisRateLimiter(client, requests_per_minute=1, burst=1).take(user_id="ann"),
        RedisLocks(client).held("job").__aenter__(),
    ):
        with pytest.raises(StoreUnavailable) as caught:
            await answer
        assert caught.value.message.startswith(f"Redis cannot serve {caught.value.component}: ")
        said.add(caught.value.message.removeprefix(f"Redis cannot serve {caught.value.component}: ").split(" (")[0])
    await client.close()
    return said


async def test_a_server_that_asks_for_a_password(servers: Servers, make: SimpleNamespace) -> None:
    url = servers("--requirepass", "secret")
    assert await refusals(url, make) == {"it asks for a password, and its URL has none"}
    wrong = url.replace("unix://", "unix://:guess@")
    assert await refusals(wrong, make) == {"the user or the password in its URL is wrong"}
    client = RedisClient(url.replace("unix://", "unix://:secret@"))
    await RedisSessions(client).ping()
    await client.close()


async def test_a_password_is_never_in_the_message(servers: Servers) -> None:
    url = servers("--requirepass", "secret").replace("unix://", "unix://:hunter2@")
    client = RedisClient(url)
    with pytest.raises(StoreUnavailable) as caught:
        await RedisSessions(client).ping()
    assert "hunter2" not in caught.value.message
    await client.close()


async def test_a_user_without_permission(servers: Servers, make: SimpleNamespace) -> None:
    url = servers()
    as_admin(url, "ACL", "SETUSER", "reader", "on", ">pass", "~*", "+@read", "+hello", "+client")
    reader = url.replace("unix://", "unix://reader:pass@")
    assert await refusals(reader, make) == {"its user may not run a command that is needed"}


async def test_a_read_only_replica(servers: Servers, make: SimpleNamespace) -> None:
    url = servers("--replicaof", "127.0.0.1 1")
    assert await refusals(url, make) == {"it is a read-only replica: its URL must name the primary"}


async def test_a_replica_that_has_lost_its_primary(servers: Servers) -> None:
    client = RedisClient(servers("--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"))
    with pytest.raises(StoreUnavailable, match="it is a replica that has lost its primary"):
        await RedisSessions(client).load("s", user_id="ann")
    await client.close()


async def test_a_server_whose_memory_is_full(servers: Servers, make: SimpleNamespace) -> None:
    url = servers("--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
    with Redis.from_url(url) as client:
        try:
            for n in range(1000):
                client.set(f"filler {n}", "x" * 10_000)
        except RedisError as error:
            assert "maxmemory" in str(error)  # noqa: PT017 - anything else is no full server
    assert await refusals(url, make) == {"its memory is full"}


async def test_a_server_that_cannot_save(servers: Servers, make: SimpleNamespace, tmp_path: Path) -> None:
    url = servers("--save", "3600 1")
    while not as_admin(url, "PING"):  # it has read its file: what lies there from now on is only in its way
        await asyncio.sleep(0.01)
    (tmp_path / "dump.rdb").mkdir()
    as_admin(url, "BGSAVE")
    give_up = time.monotonic() + 60
    while as_admin(url, "INFO", "persistence")["rdb_last_bgsave_status"] == "ok":
        assert time.monotonic() < give_up
        await asyncio.sleep(0.01)
    assert await refusals(url, make) == {"it cannot save to its disk, and so refuses to write"}


async def test_a_server_that_is_still_loading(servers: Servers, make: SimpleNamespace) -> None:
    url = servers("--rdbcompression", "no")
    with Redis.from_url(url) as client:
        for n in range(200):
            client.set(f"filler {n}", "x" * 2000)
        client.save()
    slowly = servers("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024")
    assert await refusals(slowly, make) == {"it is still loading its data"}


async def test_a_server_with_too_many_clients(servers: Servers, make: SimpleNamespace) -> None:
    url = servers("--maxclients", "1")
    with Redis.from_url(url) as greedy:
        greedy.ping()
        # Its farewell and our first command cross; which of them is seen is chance.
        assert await refusals(url, make) <= {"it has too many clients", "the connection broke"}


async def test_a_server_that_is_too_old(tmp_path: Path, make: SimpleNamespace) -> None:
    async def redis_5(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(b"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n" * 3)
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(redis_5, tmp_path / "old.sock")
    said = await refusals(f"unix://{tmp_path}/old.sock", make)
    assert said == {"it does not know a command of Redis 6.0, the oldest that will do"}
    server.close()
    await server.wait_closed()


async def test_something_that_is_no_redis(tmp_path: Path, make: SimpleNamespace) -> None:
    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(web, tmp_path / "web.sock")
    [said] = await refusals(f"unix://{tmp_path}/web.sock", make)
    assert "HTTP" in said
    server.close()
    await server.wait_closed()


class TestNetwork:
    @pytest.fixture
    def proxy(self, redis_url: str) -> Iterator[FaultProxy]:
        with FaultProxy(redis_url) as proxy:
            yield proxy

    @pytest.fixture
    async def client(self, proxy: FaultProxy) -> AsyncIterator[RedisClient]:
        client = RedisClient(f"redis://127.0.0.1:{proxy.port}", timeout_s=0.3, max_connections=4)
        yield client
        await client.close()

    async def test_a_server_that_is_not_there(self, proxy: FaultProxy, make: SimpleNamespace) -> None:
        proxy.refuse()
        [said] = await refusals(f"redis://127.0.0.1:{proxy.port}", make)
        assert "Error 111 connecting to 127.0.0.1" in said or "refused" in said.lower()

    @pytest.mark.parametrize("connected", [True, False])
    @pytest.mark.parametrize("fault", [lambda proxy: proxy.slow(10), lambda proxy: proxy.hang()])
    async def test_a_slow_server_is_given_up_at_the_deadline_and_never_answers_another_call(
        self,
        proxy: FaultProxy,
        client: RedisClient,
        make: SimpleNamespace,
        fault: Callable[[FaultProxy], None],
        connected: bool,
    ) -> None:
        sessions = RedisSessions(client)
        for n in range(8 if connected else 0):
            await sessions.append(str(n), user_id="ann", turns=[make.turn(f"of {n}", "1")])
        fault(proxy)
        async with asyncio.timeout(60):
            outcomes = await asyncio.gather(
                *(sessions.load(str(n), user_id="ann") for n in range(8)), return_exceptions=True
            )
        assert {str(outcome) for outcome in outcomes} == {
            "Redis cannot serve sessions: it did not answer within 0.3 s."
        }
        proxy.heal()
        for n in range(8):
            await sessions.append(str(n), user_id="ann", turns=[make.turn(f"of {n}", "1")])
        loaded = await asyncio.gather(*(sessions.load(str(n), user_id="ann") for n in range(8)))
        assert [[turn.content for turn in session.turns] for session in loaded] == [[f"of {n}"] for n in range(8)]

    async def test_connections_that_a_restart_broke_are_not_noticed(
        self, proxy: FaultProxy, client: RedisClient, make: SimpleNamespace
    ) -> None:
        sessions = RedisSessions(client)
        for n in range(5):
            await asyncio.gather(*(sessions.append(str(m), user_id="ann", turns=[make.turn(str(n))]) for m in range(4)))
            proxy.drop()
        assert len((await sessions.load("0", user_id="ann")).turns) == 5

    @pytest.mark.parametrize("after_bytes", [0, 1, 2])
    async def test_an_append_whose_answer_is_cut_off_is_not_acknowledged_and_may_be_repeated(
        self, proxy: FaultProxy, client: RedisClient, make: SimpleNamespace, after_bytes: int
    ) -> None:
        sessions = RedisSessions(client)
        await sessions.append("s", user_id="ann", turns=[make.turn("a", "1")])
        proxy.cut(after_bytes)
        with pytest.raises(StoreUnavailable):
            await sessions.append("s", user_id="ann", turns=[make.turn("b", "2")])
        proxy.heal()
        await sessions.append("s", user_id="ann", turns=[make.turn("b", "2")])
        assert [turn.content for turn in (await sessions.load("s", user_id="ann")).turns] == ["a", "b"]

    async def test_after_a_failover_the_next_call_finds_the_new_primary(
        self, redis_url: str, servers: Servers, make: SimpleNamespace
    ) -> None:
        with FaultProxy(servers("--replicaof", "127.0.0.1 1")) as proxy:
            client = RedisClient(f"redis://127.0.0.1:{proxy.port}")
            sessions = RedisSessions(client)
            await sessions.load("s", user_id="ann")
            proxy.upstream = redis_url
            with pytest.raises(StoreUnavailable, match="read-only replica"):
                await sessions.append("s", user_id="ann", turns=[make.turn("a")])
            await sessions.append("s", user_id="ann", turns=[make.turn("b")])
            await client.close()

    async def test_a_cancelled_call_leaves_no_answer_to_the_next(
        self, proxy: FaultProxy, client: RedisClient, make: SimpleNamespace
    ) -> None:
        sessions = RedisSessions(client)
        for name in ("a", "b"):
            await sessions.append(name, user_id="ann", turns=[make.turn(name)])
        proxy.slow(0.1)
        for _ in range(8):
            call = asyncio.create_task(sessions.load("a", user_id="ann"))
            await asyncio.sleep(0.01)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        proxy.heal()
        for _ in range(8):
            assert [turn.content for turn in (await sessions.load("b", user_id="ann")).turns] == ["b"]
