"""What only Redis has: times to live, errors of a network, and values that somebody else wrote."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.asyncio import Redis

from memory.dialogue import Session
from memory.errors import StoreUnavailable
from memory.ports.sessions import CONTEXT_TTL, HISTORY_TTL, SessionStore
from storage.memory_sessions import InMemorySessions
from storage.redis_scripts import session_keys
from storage.redis_sessions import RedisSessions
from storage.resilient_sessions import ResilientSessions


@pytest.fixture
async def sessions(redis_url: str) -> AsyncIterator[RedisSessions]:
    store = RedisSessions(redis_url)
    yield store
    await store.close()


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url) as opened:
        yield opened


async def test_each_append_renews_the_times_to_live(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace
) -> None:
    context, *_, turns = session_keys("ann", "s")
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["e"], deixis=["今天"])
    for key, ttl in ((context, CONTEXT_TTL), (turns, HISTORY_TTL)):
        await client.expire(key, 5)
        await sessions.append("s", user_id="ann", turns=[make.turn("b")], mentioned=["e"], deixis=["今天"])
        assert ttl.total_seconds() - 60 < await client.ttl(key) <= ttl.total_seconds()
    for key in await client.keys():
        assert await client.ttl(key) > 0


async def test_turns_fade_before_the_context(make: SimpleNamespace) -> None:
    now = make.NOON
    store = InMemorySessions(now=lambda: now)
    await store.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["e"])
    now = make.NOON + HISTORY_TTL
    faded = await store.load("s", user_id="ann")
    assert (faded.turns, faded.context.mentioned_entities) == ((), ("e",))
    now = make.NOON + CONTEXT_TTL
    assert (await store.load("s", user_id="ann")).context.mentioned_entities == ()


async def test_all_keys_of_a_session_share_prefix_and_hash_tag(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace
) -> None:
    await sessions.append("{x}:*", user_id="a}b", turns=[make.turn("a")], mentioned=["e"], deixis=["今天"])
    for key in await client.keys():
        assert key.startswith(b"entity_session:{a%7Db:%7Bx%7D%3A%2A}:")


async def test_an_unreadable_turn_is_left_out(sessions: RedisSessions, client: Redis, make: SimpleNamespace) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a")])
    for damage in (b"\xff\x00", b"{}", b'"text"', b"[" * 2000):
        await client.rpush(session_keys("ann", "s")[-1], damage)
    await sessions.append("s", user_id="ann", turns=[make.turn("b", "1")])
    assert [turn.content for turn in (await sessions.load("s", user_id="ann")).turns] == ["a", "b"]


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (0, ("hset", "started_at", "never")),
        (0, ("hdel", "last_activity")),
        (2, ("rpush", b"{")),
        (1, ("rpush", b"\xff")),
    ],
)
async def test_an_unreadable_context_starts_again_and_keeps_the_turns(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace, part: Any, change: Any
) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["e"])
    command, *arguments = change
    await getattr(client, command)(session_keys("ann", "s")[part], *arguments)
    session = await sessions.load("s", user_id="ann")
    assert session.context.mentioned_entities == ()
    assert len(session.turns) == 1


async def test_a_key_of_another_type_is_unavailability(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace
) -> None:
    await client.set(session_keys("ann", "s")[0], "text")
    with pytest.raises(StoreUnavailable) as caught:
        await sessions.load("s", user_id="ann")
    assert caught.value.component == "sessions"
    with pytest.raises(StoreUnavailable):
        await sessions.append("s", user_id="ann", turns=[make.turn("a")])


async def test_a_server_that_is_not_there_is_unavailability(tmp_path: Path, make: SimpleNamespace) -> None:
    store = RedisSessions(f"unix://{tmp_path}/none.sock")
    for call in (
        store.load("s", user_id="ann"),
        store.append("s", user_id="ann", turns=[make.turn("a")]),
        store.clear("s", user_id="ann"),
        store.ping(),
    ):
        with pytest.raises(StoreUnavailable):
            await call
    await store.close()


async def test_a_server_that_does_not_answer_is_unavailability(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def silent(_reader: Any, writer: Any) -> None:
        await release.wait()
        writer.close()

    server = await asyncio.start_unix_server(silent, tmp_path / "s.sock")
    store = RedisSessions(f"unix://{tmp_path}/s.sock", timeout_s=0.05)
    with pytest.raises(StoreUnavailable):
        await store.ping()
    await store.close()
    release.set()
    server.close()
    await server.wait_closed()


async def test_more_calls_than_connections_wait_for_each_other(redis_url: str, make: SimpleNamespace) -> None:
    store = RedisSessions(redis_url, max_connections=2, timeout_s=10)
    await asyncio.gather(*(store.append(str(n), user_id="ann", turns=[make.turn("a")]) for n in range(300)))
    await store.close()


class Switchable(InMemorySessions):
    """A store that can be away."""

    away = False

    async def load(self, session_id: str, *, user_id: str) -> Session:
        self._check()
        return await super().load(session_id, user_id=user_id)

    async def append(self, session_id: str, **what: Any) -> None:
        self._check()
        await super().append(session_id, **what)

    async def clear(self, session_id: str, *, user_id: str) -> None:
        self._check()
        await super().clear(session_id, user_id=user_id)

    async def ping(self) -> None:
        self._check()

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("away", component="sessions")


class TestResilience:
    @pytest.fixture
    async def primary(self) -> Switchable:
        return Switchable()

    @pytest.fixture
    async def resilient(self, primary: Switchable) -> AsyncIterator[ResilientSessions]:
        store = ResilientSessions(primary, InMemorySessions(), probe_interval_s=0.01, max_held_back=3)
        yield store
        await store.close()

    async def contents(self, store: SessionStore) -> list[str]:
        return [turn.content for turn in (await store.load("s", user_id="ann")).turns]

    async def recovered(self, resilient: ResilientSessions) -> None:
        async with asyncio.timeout(10):
            while resilient.degraded:
                await asyncio.sleep(0.005)

    async def test_a_conversation_goes_on_while_the_primary_is_away(
        self, resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
    ) -> None:
        primary.away = True
        await resilient.append("s", user_id="ann", turns=[make.turn("a")])
        assert await self.contents(resilient) == ["a"]
        assert resilient.degraded
        assert resilient.fallbacks == 2
        with pytest.raises(StoreUnavailable):
            await resilient.ping()

    async def test_what_was_held_back_is_written_in_order_when_the_primary_is_back(
        self, resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
    ) -> None:
        await resilient.append("s", user_id="ann", turns=[make.turn("before")])
        primary.away = True
        await resilient.append("s", user_id="ann", turns=[make.turn("lost")])
        await resilient.clear("s", user_id="ann")
        await resilient.append("s", user_id="ann", turns=[make.turn("during")])
        primary.away = False
        await self.recovered(resilient)
        await resilient.append("s", user_id="ann", turns=[make.turn("after")])
        assert await self.contents(primary) == await self.contents(resilient) == ["during", "after"]

    async def test_a_second_outage_starts_from_nothing_held_back(
        self, resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
    ) -> None:
        for word in ("a", "b"):
            primary.away = True
            await resilient.append("s", user_id="ann", turns=[make.turn(word)])
            assert await self.contents(resilient) == [word]
            primary.away = False
            await self.recovered(resilient)
        assert await self.contents(primary) == ["a", "b"]

    async def test_only_so_much_is_held_back(
        self, resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
    ) -> None:
        primary.away = True
        for word in "abcde":
            await resilient.append("s", user_id="ann", turns=[make.turn(word)])
        primary.away = False
        await self.recovered(resilient)
        assert await self.contents(primary) == list("cde")
        assert resilient.lost == 2

    async def test_a_real_server_may_die_and_come_back(self, tmp_path: Path, make: SimpleNamespace) -> None:
        from storage.redis_server import LocalRedisServer

        server = LocalRedisServer(tmp_path, check_interval_s=60)
        server.start()
        primary = RedisSessions(server.url)
        store = ResilientSessions(primary, InMemorySessions(), probe_interval_s=0.01)
        await store.append("s", user_id="ann", turns=[make.turn("before", "1")])
        server.stop()
        await store.append("s", user_id="ann", turns=[make.turn("during", "2")])
        assert store.degraded
        server.start()
        await self.recovered(store)
        assert await self.contents(store) == ["before", "during"]
        await store.close()
        await primary.close()
        server.stop()
