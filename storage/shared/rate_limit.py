"""The arithmetic of rate limits, shared by all limiters."""

import math
from dataclasses import dataclass

from memory.values.errors import Overloaded


@dataclass(frozen=True)
class RateLimit:
    """`burst` requests at once, then as many as come back: `requests_per_minute`, evenly (GCRA)."""

    requests_per_minute: float
    burst: int

    def __post_init__(self) -> None:
        if not (0 < self.requests_per_minute < math.inf and self.burst >= 1):
            raise ValueError("a rate limit needs requests_per_minute > 0 and burst >= 1")

    @property
    def interval_us(self) -> int:
        """Microseconds until the next request is allowed."""
        return math.ceil(60e6 / self.requests_per_minute)

    def refuse(self, wait_us: float) -> Overloaded:
        """The error for a request that comes `wait_us` microseconds too early."""
        seconds = wait_us / 1e6
        return Overloaded(
            f"You may send {self.requests_per_minute:g} requests a minute; try again in {math.ceil(seconds)} s.",
            retry_after_s=seconds,
        )
