"""Locks and rate limits that all processes share, in Redis or Valkey (STORES, Choice)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from redis.asyncio.lock import Lock
from redis.exceptions import LockNotOwnedError
from typing_extensions import override

from memory.ports.stores.coordination import Locks, RateLimiter
from memory.values.errors import StoreUnavailable

from ..shared.checks import check_user
from ..shared.rate_limit import RateLimit
from .client import RedisClient
from .scripts import TAKE, limit_key, lock_key

_RENEWALS_PER_TTL = 3

_log = structlog.get_logger(__name__)


class RedisLocks(Locks):
    """Keys that expire, renewed by their holders.

    A lock is lost where the server forgets it or is unavailable for longer than `ttl_s`; that is logged as `lock_lost`,
    and the block continues: its work must be harmless when it is done twice.

    Args:
        redis: The connections.
    """

    def __init__(self, redis: RedisClient) -> None:
        self._redis = redis

    @override
    @asynccontextmanager
    async def held(self, name: str, *, ttl_s: float = 30.0) -> AsyncIterator[bool]:
        lock = _Lock(self._redis.commands, lock_key(name), timeout=ttl_s, blocking=False, thread_local=False)
        if not await self._redis.ask(lock.acquire(), component="locks"):
            yield False
            return
        renewal = asyncio.get_running_loop().create_task(self._renew(lock, name, ttl_s))
        try:
            yield True
        finally:
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
            await self._release(lock, name)

    async def _renew(self, lock: Lock, name: str, ttl_s: float) -> None:
        held_until = time.monotonic() + ttl_s
        while True:
            await asyncio.sleep(ttl_s / _RENEWALS_PER_TTL)
            sent_at = time.monotonic()
            try:
                await self._redis.ask(lock.reacquire(), component="locks")
                held_until = sent_at + ttl_s
            except LockNotOwnedError:
                _log.error("lock_lost", name=name, error="another may have taken it")
                return
            except StoreUnavailable as error:
                if time.monotonic() >= held_until:
                    _log.error("lock_lost", name=name, error=error.message)
                    return

    async def _release(self, lock: Lock, name: str) -> None:
        try:
            await self._redis.ask(lock.release(), component="locks")
        except LockNotOwnedError:
            _log.warning("lock_expired_before_release", name=name)
        except StoreUnavailable as error:
            _log.warning("lock_release_failed", name=name, error=error.message)


class RedisRateLimiter(RateLimiter):
    """Counts each user's requests on the server, by its clock.

    Args:
        redis: The connections.
        requests_per_minute: How fast requests come back.
        burst: How many may come at once.
    """

    def __init__(self, redis: RedisClient, *, requests_per_minute: float, burst: int) -> None:
        self._redis = redis
        self._rate_limit = RateLimit(requests_per_minute, burst)
        self._take = redis.commands.register_script(TAKE)

    @override
    async def take(self, *, user_id: str) -> None:
        arguments = [self._rate_limit.interval_us, self._rate_limit.burst]
        answer = self._take(keys=[limit_key(check_user(user_id))], args=arguments)
        wait_us = await self._redis.ask(answer, component="rate_limits")
        if wait_us:
            raise self._rate_limit.refuse(wait_us)


class _Lock(Lock):
    @override
    async def do_acquire(self, token: str | bytes) -> bool:
        # When a reply was lost the client asks again, and the token that it finds is its own.
        return await super().do_acquire(token) or await self.redis.get(self.name) == token
