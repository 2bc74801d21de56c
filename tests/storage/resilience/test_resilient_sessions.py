"""Sessions that go on while their server is away (DESIGN §7)."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memory.ports.stores.sessions import HISTORY_TTL, HISTORY_TURNS, SessionStore
from memory.values.errors import InvalidField, StoreUnavailable
from memory.values.understanding.dialogue import Role, Session, SessionContext, Turn
from storage.inmemory.sessions import InMemorySessions
from storage.redis.client import RedisClient
from storage.redis.server import LocalRedisServer
from storage.redis.sessions import RedisSessions
from storage.resilience.fallbacks import ResilientSessions
from testing.fault_proxy import FaultProxy


class Switchable(InMemorySessions):
    """A store that can be away."""

    away = False

    async def load(self, session_id: str, *, user_id: str) -> Session:
        self._check()
        return await super().load(session_id, user_id=user_id)

    async def append(self, session_id: str, **what: Any) -> None:
        self._check()
        await super().append(session_id, **what)

    async def store_context(self, context: SessionContext, *, user_id: str) -> None:
        self._check()
        await super().store_context(context, user_id=user_id)

    async def clear(self, session_id: str, *, user_id: str) -> None:
        self._check()
        await super().clear(session_id, user_id=user_id)

    async def ping(self) -> None:
        self._check()

    def _check(self) -> None:
        if self.away:
            raise StoreUnavailable("It is away.", component="sessions")


@pytest.fixture
async def primary() -> Switchable:
    return Switchable()


@pytest.fixture
async def resilient(primary: Switchable) -> AsyncIterator[ResilientSessions]:
    store = ResilientSessions(primary, InMemorySessions(), probe_interval_s=0.01, max_held_back=3)
    yield store
    await store.close()


async def contents(store: SessionStore) -> list[str]:
    return [turn.content for turn in (await store.load("s", user_id="ann")).turns]


async def recovered(resilient: ResilientSessions) -> None:
    async with asyncio.timeout(60):
        while resilient.degraded:
            await asyncio.sleep(0.005)


async def test_a_conversation_goes_on_while_the_primary_is_away(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
) -> None:
    primary.away = True
    await resilient.append("s", user_id="ann", turns=[make.turn("a")], referred="e")
    assert await contents(resilient) == ["a"]
    assert (await resilient.load("s", user_id="ann")).context.last_referred_entity == "e"
    assert resilient.degraded
    assert resilient.fallbacks == 3
    with pytest.raises(StoreUnavailable):
        await resilient.ping()


async def test_what_was_held_back_is_written_in_order_when_the_primary_is_back(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
) -> None:
    await resilient.append("s", user_id="ann", turns=[make.turn("before")])
    primary.away = True
    await resilient.append("s", user_id="ann", turns=[make.turn("lost")])
    await resilient.clear("s", user_id="ann")
    await resilient.append("s", user_id="ann", turns=[make.turn("during")])
    primary.away = False
    await recovered(resilient)
    await resilient.append("s", user_id="ann", turns=[make.turn("after")])
    assert await contents(primary) == await contents(resilient) == ["during", "after"]


async def test_a_context_that_was_held_back_is_stored_when_the_primary_is_back(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
) -> None:
    primary.away = True
    context = SessionContext(
        session_id="s", user_id="ann", mentioned_entities=("e",), started_at=make.NOON, last_activity=make.NOON
    )
    await resilient.store_context(context, user_id="ann")
    with pytest.raises(InvalidField):
        await resilient.store_context(context, user_id="bob")
    primary.away = False
    await recovered(resilient)
    assert (await primary.load("s", user_id="ann")).context == context


async def test_a_second_outage_starts_from_nothing_held_back(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
) -> None:
    for word in ("a", "b"):
        primary.away = True
        await resilient.append("s", user_id="ann", turns=[make.turn(word)])
        assert await contents(resilient) == [word]
        primary.away = False
        await recovered(resilient)
    assert await contents(primary) == ["a", "b"]
    assert resilient.figures()["outages"] == 2


async def test_only_so_much_is_held_back(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
) -> None:
    primary.away = True
    for word in "abcde":
        await resilient.append("s", user_id="ann", turns=[make.turn(word)])
    primary.away = False
    await recovered(resilient)
    assert await contents(primary) == list("cde")
    assert resilient.lost == 2


async def test_the_figures_say_since_when_and_why(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
) -> None:
    assert resilient.figures() == {"fallbacks": 0, "outages": 0, "held_back": 0, "lost": 0}
    primary.away = True
    await resilient.append("s", user_id="ann", turns=[make.turn("a")])
    figures = dict(resilient.figures())
    assert isinstance(figures.pop("since"), str)
    assert figures == {
        "fallbacks": 1,
        "outages": 1,
        "held_back": 1,
        "lost": 0,
        "status": "degraded",
        "error": "It is away.",
    }
    primary.away = False
    await recovered(resilient)
    assert resilient.figures() == {"fallbacks": 1, "outages": 1, "held_back": 0, "lost": 0}


async def test_a_change_that_the_primary_refuses_does_not_hold_up_the_others(
    resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise InvalidField("No.", field="session_id")

    primary.away = True
    await resilient.clear("s", user_id="ann")
    await resilient.append("s", user_id="ann", turns=[make.turn("a")])
    monkeypatch.setattr(primary, "clear", refuse)
    primary.away = False
    await recovered(resilient)
    assert await contents(primary) == ["a"]
    assert resilient.lost == 1


class Log:
    """A raw log that may fail."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = turns
        self.asked = 0
        self.error: Exception | None = None

    async def session(self, session_id: str, user_id: str) -> Sequence[Turn]:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.turns if (session_id, user_id) == ("s", "ann") else ()


class TestRecall:
    @pytest.fixture
    async def log(self, make: SimpleNamespace) -> Log:
        return Log([make.turn("a", "1"), make.turn("b", "2", Role.ASSISTANT)])

    @pytest.fixture
    async def resilient(self, primary: Switchable, log: Log, make: SimpleNamespace) -> AsyncIterator[ResilientSessions]:
        fallback = InMemorySessions(now=lambda: make.at(1))
        store = ResilientSessions(
            primary, fallback, recall=log.session, probe_interval_s=0.01, now=lambda: make.at(1), recall_deadline_s=5
        )
        primary.away = True
        yield store
        await store.close()

    async def test_a_session_goes_on_from_the_turns_of_the_raw_log(
        self, resilient: ResilientSessions, log: Log, make: SimpleNamespace
    ) -> None:
        assert await contents(resilient) == ["a", "b"]
        await resilient.append("s", user_id="ann", turns=[make.turn("c", "3")])
        assert await contents(resilient) == ["a", "b", "c"]
        assert log.asked == 1

    async def test_a_turn_that_is_in_both_appears_once_and_as_the_session_knows_it(
        self, resilient: ResilientSessions, make: SimpleNamespace
    ) -> None:
        seen = make.turn("b", "2", Role.ASSISTANT).model_copy(update={"mentions": ()})
        await resilient.append("s", user_id="ann", turns=[seen, make.turn("c", "3")])
        turns = (await resilient.load("s", user_id="ann")).turns
        assert [turn.content for turn in turns] == ["a", "b", "c"]
        assert turns[1].mentions == ()

    async def test_nobody_elses_turns_are_recalled(self, resilient: ResilientSessions) -> None:
        assert (await resilient.load("s", user_id="bob")).turns == ()
        assert (await resilient.load("t", user_id="ann")).turns == ()

    async def test_only_the_last_hour_is_recalled(
        self, resilient: ResilientSessions, log: Log, make: SimpleNamespace
    ) -> None:
        old = make.turn("old", "0").model_copy(update={"created_at": make.at(1) - HISTORY_TTL})
        log.turns = [old, *(make.turn(str(n), str(n)) for n in range(HISTORY_TURNS + 5))]
        assert await contents(resilient) == [str(n) for n in range(5, HISTORY_TURNS + 5)]

    async def test_a_session_that_was_cleared_meanwhile_stays_empty(self, resilient: ResilientSessions) -> None:
        await resilient.clear("s", user_id="ann")
        assert await contents(resilient) == []

    @pytest.mark.parametrize("error", [StoreUnavailable("Also away.", component="record"), InvalidField("No.")])
    async def test_a_failing_recall_is_ignored_and_tried_again(
        self, resilient: ResilientSessions, log: Log, make: SimpleNamespace, error: Exception
    ) -> None:
        log.error = error
        assert await contents(resilient) == []
        await resilient.append("s", user_id="ann", turns=[make.turn("c", "3")])
        log.error = None
        assert await contents(resilient) == ["a", "b", "c"]

    async def test_a_hanging_recall_is_given_up(self, primary: Switchable) -> None:
        async def hang(_session_id: str, _user_id: str) -> Sequence[Turn]:
            await asyncio.Event().wait()
            return ()

        primary.away = True
        store = ResilientSessions(primary, InMemorySessions(), recall=hang, recall_deadline_s=0.01)
        assert await contents(store) == []
        await store.close()

    async def test_a_primary_that_comes_back_while_recalling_answers(
        self, primary: Switchable, make: SimpleNamespace
    ) -> None:
        await primary.append("s", user_id="ann", turns=[make.turn("kept by the primary")])
        began, go_on = asyncio.Event(), asyncio.Event()

        async def slow(_session_id: str, _user_id: str) -> Sequence[Turn]:
            began.set()
            await go_on.wait()
            return [make.turn("from the log", "1")]

        store = ResilientSessions(primary, InMemorySessions(), recall=slow, recall_deadline_s=5, probe_interval_s=0.01)
        primary.away = True
        loading = asyncio.create_task(contents(store))
        await began.wait()
        primary.away = False
        await recovered(store)
        go_on.set()
        assert await loading == ["kept by the primary"]
        await store.close()

    async def test_what_was_recalled_is_not_written_to_the_primary(
        self, resilient: ResilientSessions, primary: Switchable, make: SimpleNamespace
    ) -> None:
        await contents(resilient)
        await resilient.append("s", user_id="ann", turns=[make.turn("c", "3")])
        primary.away = False
        await recovered(resilient)
        assert await contents(primary) == ["c"]


class TestOverRedis:
    @pytest.fixture
    def proxy(self, redis_url: str) -> Iterator[FaultProxy]:
        with FaultProxy(redis_url) as proxy:
            yield proxy

    @pytest.fixture
    async def client(self, proxy: FaultProxy) -> AsyncIterator[RedisClient]:
        client = RedisClient(f"redis://127.0.0.1:{proxy.port}", timeout_s=5)
        yield client
        await client.close()

    @pytest.fixture
    async def store(self, client: RedisClient) -> AsyncIterator[ResilientSessions]:
        store = ResilientSessions(RedisSessions(client), InMemorySessions(), probe_interval_s=0.01)
        yield store
        await store.close()

    async def test_an_append_whose_answer_is_cut_off_is_kept_once(
        self, store: ResilientSessions, proxy: FaultProxy, make: SimpleNamespace
    ) -> None:
        await store.append("s", user_id="ann", turns=[make.turn("a", "1")], deixis=["今天"])
        proxy.cut()
        await store.append("s", user_id="ann", turns=[make.turn("b", "2")], deixis=["昨天"])
        assert store.degraded
        proxy.heal()
        await recovered(store)
        session = await store.load("s", user_id="ann")
        assert [turn.content for turn in session.turns] == ["a", "b"]
        assert session.context.deixis == ("今天", "昨天")

    async def test_whatever_the_network_does_each_acknowledged_turn_is_kept_once_and_in_order(
        self, store: ResilientSessions, client: RedisClient, proxy: FaultProxy, make: SimpleNamespace
    ) -> None:
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        faults = (proxy.refuse, proxy.cut, lambda: proxy.cut(3), proxy.reset, proxy.drop, proxy.heal, proxy.heal)
        for n in range(HISTORY_TURNS):
            chance.choice(faults)()
            await store.append("s", user_id="ann", turns=[make.turn(str(n), str(n))])
        proxy.heal()
        await recovered(store)
        kept = [turn.content for turn in (await RedisSessions(client).load("s", user_id="ann")).turns]
        assert kept == [str(n) for n in range(HISTORY_TURNS)], f"seed {seed}"

    async def test_a_real_server_may_die_and_come_back(self, tmp_path: Path, make: SimpleNamespace) -> None:
        server = LocalRedisServer(tmp_path, check_interval_s=60)
        server.start()
        primary = RedisSessions(server.url)
        store = ResilientSessions(primary, InMemorySessions(), probe_interval_s=0.01)
        await store.append("s", user_id="ann", turns=[make.turn("before", "1")])
        server.stop()
        await store.append("s", user_id="ann", turns=[make.turn("during", "2")])
        assert store.degraded
        server.start()
        await recovered(store)
        assert await contents(store) == ["before", "during"]
        await store.close()
        await primary.close()
        server.stop()
