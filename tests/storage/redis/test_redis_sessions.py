"""What only Redis has: times to live, errors of a network, and values that somebody else wrote."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from redis.asyncio import Redis

from memory.ports.stores.sessions import CONTEXT_TTL, HISTORY_TTL
from memory.values.errors import StoreUnavailable
from memory.values.understanding.dialogue import SessionContext
from storage.redis.client import RedisClient
from storage.redis.scripts import session_keys
from storage.redis.sessions import RedisSessions


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
    for stored in await client.keys():
        assert await client.ttl(stored) > 0


async def test_a_stored_context_lives_as_long_and_leaves_the_turns_alone(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace
) -> None:
    *context, turns = session_keys("ann", "s")
    await sessions.append("s", user_id="ann", turns=[make.turn("a")])
    await client.expire(turns, 5)
    stored = SessionContext(
        session_id="s",
        user_id="ann",
        mentioned_entities=("e",),
        coreference_history=({"original_text": "它"},),
        deixis=("今天",),
        started_at=make.NOON,
        last_activity=make.NOON,
    )
    await sessions.store_context(stored, user_id="ann")
    for key in context:
        assert CONTEXT_TTL.total_seconds() - 60 < await client.ttl(key) <= CONTEXT_TTL.total_seconds()
    assert await client.ttl(turns) <= 5


async def test_all_keys_of_a_session_share_prefix_and_hash_tag(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace
) -> None:
    await sessions.append("{x}:*", user_id="a}b", turns=[make.turn("a")], mentioned=["e"], deixis=["今天"])
    for key in await client.keys():
        assert isinstance(key, bytes)
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


async def test_a_key_that_somebody_made_another_type_is_left_out_and_started_anew(
    sessions: RedisSessions, client: Redis, make: SimpleNamespace
) -> None:
    await sessions.append("s", user_id="ann", turns=[make.turn("a")], mentioned=["e"])
    context, *_, turns = session_keys("ann", "s")
    await client.delete(turns)
    await client.set(turns, "text")
    session = await sessions.load("s", user_id="ann")
    assert (session.turns, session.context.mentioned_entities) == ((), ("e",))
    await client.delete(context)
    await client.rpush(context, "text")
    await sessions.append("s", user_id="ann", turns=[make.turn("b")])
    assert [turn.content for turn in (await sessions.load("s", user_id="ann")).turns] == ["b"]


async def test_a_server_that_is_not_there_is_unavailability(tmp_path: Path, make: SimpleNamespace) -> None:
    connections = RedisClient(f"unix://{tmp_path}/none.sock")
    store = RedisSessions(connections)
    for call in (
        store.load("s", user_id="ann"),
        store.append("s", user_id="ann", turns=[make.turn("a")]),
        store.clear("s", user_id="ann"),
        store.ping(),
    ):
        with pytest.raises(StoreUnavailable):
            await call
    await connections.close()


async def test_a_server_that_does_not_answer_is_unavailability(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def silent(_reader: Any, writer: Any) -> None:
        await release.wait()
        writer.close()

    server = await asyncio.start_unix_server(silent, tmp_path / "s.sock")
    connections = RedisClient(f"unix://{tmp_path}/s.sock", timeout_s=0.05)
    with pytest.raises(StoreUnavailable):
        await RedisSessions(connections).ping()
    await connections.close()
    release.set()
    server.close()
    await server.wait_closed()


async def test_more_calls_than_connections_wait_for_each_other(redis_url: str, make: SimpleNamespace) -> None:
    connections = RedisClient(redis_url, max_connections=2, timeout_s=10)
    store = RedisSessions(connections)
    await asyncio.gather(*(store.append(str(n), user_id="ann", turns=[make.turn("a")]) for n in range(300)))
    await connections.close()
