"""Locks and rate limits within one process: for tests, and for the time when the server is unavailable."""

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from cachetools import LRUCache
from typing_extensions import override

from memory.ports.stores.coordination import Locks, RateLimiter

from ..shared.checks import check_user
from ..shared.rate_limit import RateLimit


class InMemoryLocks(Locks):
    """A set of names; the tasks of one event loop agree on it."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    @override
    @asynccontextmanager
    async def held(self, name: str, *, ttl_s: float = 30.0) -> AsyncIterator[bool]:
        """Tries to take the lock; its holder cannot die without leaving the block, so it never expires."""
        if name in self._held:
            yield False
            return
        self._held.add(name)
        try:
            yield True
        finally:
            self._held.remove(name)


class InMemoryRateLimiter(RateLimiter):
    """Keeps for each user when the full burst is available again; forgets the user who was idle longest.

    Args:
        requests_per_minute: How fast requests come back.
        burst: How many may come at once.
        max_users: How many users are kept at most.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        *,
        requests_per_minute: float,
        burst: int,
        max_users: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate_limit = RateLimit(requests_per_minute, burst)
        self._clock = clock
        self._full_at_us: LRUCache[str, float] = LRUCache(max_users)

    @override
    async def take(self, *, user_id: str) -> None:
        now = math.floor(self._clock() * 1e6)
        interval, burst = self._rate_limit.interval_us, self._rate_limit.burst
        full = max(self._full_at_us.get(check_user(user_id), now), now) + interval
        wait = full - now - burst * interval
        if wait > 0:
            raise self._rate_limit.refuse(wait)
        self._full_at_us[user_id] = full
