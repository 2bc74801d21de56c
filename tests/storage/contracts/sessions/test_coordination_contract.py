"""What all locks and rate limiters do (`memory.ports.stores.coordination`): the fakes, Redis, and its safety net."""

import asyncio
import sys
import textwrap
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.asyncio import Redis
from structlog.testing import capture_logs

from memory.ports.stores.coordination import Locks, RateLimiter
from memory.values.errors import InvalidField, Overloaded, StoreUnavailable
from storage.inmemory.coordination import InMemoryLocks, InMemoryRateLimiter
from storage.redis.client import RedisClient
from storage.redis.coordination import RedisLocks, RedisRateLimiter
from storage.redis.scripts import limit_key, lock_key
from storage.redis.sessions import RedisSessions
from storage.resilience.circuit import Circuit
from storage.resilience.fallbacks import ResilientRateLimiter
from testing.fault_proxy import FaultProxy

Limiters = Callable[..., RateLimiter]


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[RedisClient]:
    client = RedisClient(redis_url, timeout_s=5)
    yield client
    await client.close()


@pytest.fixture
async def commands(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture(params=["memory", "redis"])
def locks(request: pytest.FixtureRequest, redis: RedisClient) -> Locks:
    return InMemoryLocks() if request.param == "memory" else RedisLocks(redis)


@pytest.fixture(params=["memory", "redis", "resilient"])
def limiters(request: pytest.FixtureRequest, redis: RedisClient) -> Limiters:
    def make(requests_per_minute: float, burst: int) -> RateLimiter:
        shared = RedisRateLimiter(redis, requests_per_minute=requests_per_minute, burst=burst)
        local = InMemoryRateLimiter(requests_per_minute=requests_per_minute, burst=burst)
        if request.param == "resilient":
            return ResilientRateLimiter(shared, local, circuit=Circuit("rate limits", deadline_s=5, threshold=1))
        return shared if request.param == "redis" else local

    return make


async def refused(limiter: RateLimiter) -> Overloaded:
    """The refusal that comes after as many requests as are let in."""
    for _ in range(100):
        try:
            await limiter.take(user_id="ann")
        except Overloaded as error:
            return error
    pytest.fail("everything was let in")


class TestLocks:
    async def test_only_one_has_it_and_nobody_waits(self, locks: Locks) -> None:
        async with locks.held("job") as mine, locks.held("job") as theirs:
            assert (mine, theirs) == (True, False)
        async with locks.held("job") as again:
            assert again

    async def test_whoever_did_not_get_it_does_not_free_it(self, locks: Locks) -> None:
        async with locks.held("job") as mine:
            for _ in range(2):
                async with locks.held("job") as theirs:
                    assert (mine, theirs) == (True, False)

    async def test_other_names_are_other_locks(self, locks: Locks) -> None:
        async with locks.held("a:b}") as one, locks.held("a") as two, locks.held("記憶") as three:
            assert [one, two, three] == [True, True, True]

    async def test_a_block_that_fails_frees_it(self, locks: Locks) -> None:
        with pytest.raises(KeyError):
            async with locks.held("job"):
                raise KeyError
        async with locks.held("job") as mine:
            assert mine

    async def test_a_cancelled_block_frees_it(self, locks: Locks) -> None:
        inside = asyncio.Event()

        async def work() -> None:
            async with locks.held("job"):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with locks.held("job") as mine:
            assert mine

    async def test_of_many_at_once_one_gets_it(self, locks: Locks) -> None:
        everybody = asyncio.Barrier(20)

        async def attempt() -> bool:
            async with locks.held("job") as mine:
                await everybody.wait()
                return mine

        assert sum(await asyncio.gather(*(attempt() for _ in range(20)))) == 1


class TestRedisLocks:
    async def test_it_is_renewed_while_the_block_runs(self, redis: RedisClient, commands: Redis) -> None:
        async with RedisLocks(redis).held("job", ttl_s=1.5) as mine:
            assert mine
            await commands.pexpire(lock_key("job"), 1000)
            async with asyncio.timeout(60):
                while await commands.pttl(lock_key("job")) <= 1000:
                    await asyncio.sleep(0.02)

    async def test_a_lock_that_somebody_else_has_now_is_noticed_logged_and_left_alone(
        self, redis: RedisClient, commands: Redis
    ) -> None:
        with capture_logs() as logs:
            async with RedisLocks(redis).held("job", ttl_s=0.1):
                await commands.set(lock_key("job"), "theirs")
                async with asyncio.timeout(60):
                    while not logs:
                        await asyncio.sleep(0.01)
        assert [entry["event"] for entry in logs] == ["lock_lost", "lock_expired_before_release"]
        assert await commands.get(lock_key("job")) == b"theirs"

    async def test_it_is_free_again_after_its_holder_was_killed(self, redis: RedisClient, redis_url: str) -> None:
        program = f"""
            import asyncio
            from storage.redis.client import RedisClient
            from storage.redis.coordination import RedisLocks

            async def main():
                async with RedisLocks(RedisClient({redis_url!r}, timeout_s=5)).held("job", ttl_s=0.5) as mine:
                    print(mine, flush=True)
                    await asyncio.Event().wait()

            asyncio.run(main())
        """
        holder = await asyncio.create_subprocess_exec(
            sys.executable, "-c", textwrap.dedent(program), stdout=asyncio.subprocess.PIPE
        )
        assert holder.stdout is not None
        assert await holder.stdout.readline() == b"True\n"
        locks = RedisLocks(redis)
        async with locks.held("job") as mine:
            assert not mine
        holder.kill()
        await holder.communicate()
        async with asyncio.timeout(60):
            while True:
                async with locks.held("job") as mine:
                    if mine:
                        return
                await asyncio.sleep(0.02)

    async def test_an_answer_that_is_cut_off_does_not_lock_out_its_holder(self, redis_url: str) -> None:
        with FaultProxy(redis_url) as proxy:
            client = RedisClient(f"redis://127.0.0.1:{proxy.port}", timeout_s=5)
            await client.commands.ping()
            proxy.cut_once()
            async with RedisLocks(client).held("job") as mine:
                assert mine
            await client.close()

    async def test_without_the_server_nobody_gets_it(self, redis_url: str) -> None:
        with FaultProxy(redis_url) as proxy:
            client = RedisClient(f"redis://127.0.0.1:{proxy.port}", timeout_s=0.2)
            for fault in (proxy.refuse, proxy.hang, proxy.reset):
                fault()
                with pytest.raises(StoreUnavailable) as caught:
                    async with RedisLocks(client).held("job"):
                        pytest.fail("the lock was given")
                assert caught.value.component == "locks"
            await client.close()

    async def test_a_server_that_dies_meanwhile_fails_the_lock_and_not_the_block(self, redis_url: str) -> None:
        with FaultProxy(redis_url) as proxy, capture_logs() as logs:
            client = RedisClient(f"redis://127.0.0.1:{proxy.port}", timeout_s=0.2)
            async with RedisLocks(client).held("job", ttl_s=0.2) as mine:
                proxy.refuse()
                async with asyncio.timeout(60):
                    while not logs:
                        await asyncio.sleep(0.01)
            await client.close()
        assert mine
        assert [entry["event"] for entry in logs] == ["lock_lost", "lock_release_failed"]


class TestRateLimits:
    async def test_a_burst_is_let_in_and_then_nobody(self, limiters: Limiters) -> None:
        limiter = limiters(1, 5)
        for _ in range(5):
            await limiter.take(user_id="ann")
        for _ in range(2):
            with pytest.raises(Overloaded) as caught:
                await limiter.take(user_id="ann")
            assert 50 < caught.value.retry_after_s <= 60
            assert "1 requests a minute" in caught.value.message

    async def test_whoever_waits_as_long_as_told_is_let_in(self, limiters: Limiters) -> None:
        limiter = limiters(600, 2)
        for _ in range(3):
            refusal = await refused(limiter)
            assert refusal.retry_after_s <= 0.1
            await asyncio.sleep(refusal.retry_after_s + 0.001)
            await limiter.take(user_id="ann")

    async def test_each_user_has_an_allowance_of_its_own(self, limiters: Limiters) -> None:
        limiter = limiters(1, 1)
        for user in ("ann", "bob", "a}b", "記憶", "a%7Db"):
            await limiter.take(user_id=user)
        with pytest.raises(Overloaded):
            await limiter.take(user_id="ann")

    async def test_concurrent_requests_are_counted_one_by_one(self, limiters: Limiters) -> None:
        limiter = limiters(1, 7)
        outcomes = await asyncio.gather(*(limiter.take(user_id="ann") for _ in range(30)), return_exceptions=True)
        assert outcomes.count(None) == 7
        assert all(outcome is None or isinstance(outcome, Overloaded) for outcome in outcomes)

    async def test_an_impossible_user_is_refused(self, limiters: Limiters) -> None:
        with pytest.raises(InvalidField):
            await limiters(1, 1).take(user_id="a\n")

    @pytest.mark.parametrize(("requests_per_minute", "burst"), [(0, 1), (-1, 1), (1, 0), (float("inf"), 1)])
    def test_a_limit_that_lets_nobody_in_is_refused(
        self, limiters: Limiters, requests_per_minute: float, burst: int
    ) -> None:
        with pytest.raises(ValueError, match="rate limit"):
            limiters(requests_per_minute, burst)

    @given(
        gaps=st.lists(st.floats(0, 3), max_size=60),
        requests_per_minute=st.integers(10, 300),
        burst=st.integers(1, 5),
    )
    async def test_in_no_stretch_of_time_are_more_let_in_than_allowed(
        self, gaps: list[float], requests_per_minute: int, burst: int
    ) -> None:
        now = 0.0
        limiter = InMemoryRateLimiter(requests_per_minute=requests_per_minute, burst=burst, clock=lambda: now)
        let_in = []
        for gap in gaps:
            now += gap
            try:
                await limiter.take(user_id="ann")
                let_in.append(now)
            except Overloaded as error:
                now += error.retry_after_s + 1e-6
                await limiter.take(user_id="ann")
                let_in.append(now)
        for first, start in enumerate(let_in):
            for last, end in enumerate(let_in[first:], 1):
                assert last <= burst + (end - start) * requests_per_minute / 60 + 1e-3

    async def test_the_longest_idle_user_is_forgotten_first(self) -> None:
        limiter = InMemoryRateLimiter(requests_per_minute=1, burst=1, max_users=2)
        for user in ("ann", "bob", "eve"):
            await limiter.take(user_id=user)
        await limiter.take(user_id="ann")
        with pytest.raises(Overloaded):
            await limiter.take(user_id="eve")


class TestRedisRateLimits:
    async def test_two_processes_count_together(self, redis: RedisClient, redis_url: str) -> None:
        other = RedisClient(redis_url)
        one, two = (RedisRateLimiter(client, requests_per_minute=1, burst=2) for client in (redis, other))
        await one.take(user_id="ann")
        await two.take(user_id="ann")
        for limiter in (one, two):
            with pytest.raises(Overloaded):
                await limiter.take(user_id="ann")
        await other.close()

    async def test_nothing_is_kept_longer_than_it_takes_to_be_full_again(
        self, redis: RedisClient, commands: Redis
    ) -> None:
        limiter = RedisRateLimiter(redis, requests_per_minute=1, burst=3)
        for allowed in (60_000, 120_000, 180_000):
            await limiter.take(user_id="ann")
            assert allowed - 30_000 < await commands.pttl(limit_key("ann")) <= allowed

    @pytest.mark.parametrize("garbage", [b"9e99", b"text", b""])
    async def test_a_value_that_cannot_be_right_locks_nobody_out(
        self, redis: RedisClient, commands: Redis, garbage: bytes
    ) -> None:
        await commands.set(limit_key("ann"), garbage)
        limiter = RedisRateLimiter(redis, requests_per_minute=1, burst=3)
        assert (await refused(limiter)).retry_after_s <= 60

    async def test_while_the_server_is_away_each_process_counts_for_itself(self, redis_url: str) -> None:
        now = 0.0
        with FaultProxy(redis_url) as proxy:
            client = RedisClient(f"redis://127.0.0.1:{proxy.port}", timeout_s=0.5)
            limiter = ResilientRateLimiter(
                RedisRateLimiter(client, requests_per_minute=1, burst=2),
                InMemoryRateLimiter(requests_per_minute=1, burst=3),
                circuit=Circuit("rate limits", deadline_s=0.5, threshold=1, retry_after_s=2, clock=lambda: now),
            )
            await limiter.take(user_id="ann")
            assert "status" not in limiter.figures()
            proxy.refuse()
            for _ in range(3):
                await limiter.take(user_id="ann")
            with pytest.raises(Overloaded):
                await limiter.take(user_id="ann")
            figures = limiter.figures()
            assert (figures["status"], figures["circuit"], figures["fallbacks"]) == ("degraded", "open", 4)
            proxy.heal()
            now = 2
            await limiter.take(user_id="ann")
            with pytest.raises(Overloaded):
                await limiter.take(user_id="ann")
            assert (limiter.fallbacks, limiter.figures()["circuit"]) == (4, "closed")
            await client.close()


async def test_everything_in_a_process_shares_one_connection_pool(redis_url: str, commands: Redis) -> None:
    client = RedisClient(redis_url, max_connections=3, timeout_s=10)
    sessions, locks = RedisSessions(client), RedisLocks(client)
    limiter = RedisRateLimiter(client, requests_per_minute=60_000, burst=100)
    before = (await commands.info("clients"))["connected_clients"]

    async def use(n: int) -> None:
        async with locks.held(str(n)):
            await limiter.take(user_id=str(n))
            await sessions.append("s", user_id=str(n), turns=[], mentioned=["e"])

    await asyncio.gather(*(use(n) for n in range(50)))
    assert (await commands.info("clients"))["connected_clients"] <= before + 3
    await client.close()
