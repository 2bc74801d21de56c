"""Rate limits that all processes share, in Redis or Valkey (STORES, Choice)."""

from typing_extensions import override

from memory.ports.coordination import RateLimiter

from ..shared.checks import check_user
from ..shared.rate_limit import Allowance
from .client import RedisClient
from .scripts import TAKE, limit_key

COMPONENT = "rate_limits"


class RedisRateLimiter(RateLimiter):
    """Counts each user's requests on the server, by its clock.

    Args:
        redis: The connections.
        requests_per_minute: How fast requests come back.
        burst: How many may come at once.
    """

    def __init__(self, redis: RedisClient, *, requests_per_minute: float, burst: int) -> None:
        self._redis = redis
        self._allowance = Allowance(requests_per_minute, burst)
        self._take = redis.commands.register_script(TAKE)

    @override
    async def take(self, *, user_id: str) -> None:
        arguments = [self._allowance.interval_us, self._allowance.burst]
        answer = self._take(keys=[limit_key(check_user(user_id))], args=arguments)
        wait_us = await self._redis.ask(answer, component=COMPONENT)
        if wait_us:
            raise self._allowance.refuse(wait_us)
