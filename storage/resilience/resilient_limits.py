"""A rate limiter that goes on without its server (DESIGN §7): chat is never refused because Redis is away."""

from collections.abc import Mapping

from typing_extensions import override

from memory.ports.coordination import RateLimiter
from memory.values.errors import StoreUnavailable

from .circuit import Circuit


class ResilientRateLimiter(RateLimiter):
    """Asks the shared limiter, and one of this process while that is away; each process then counts for itself.

    Args:
        primary: The limiter that is meant to answer.
        fallback: The one that answers meanwhile.
        circuit: Decides how long the primary may take and when it is tried again; nobody should wait for it twice, so
            it should open at the first failure.
    """

    def __init__(self, primary: RateLimiter, fallback: RateLimiter, *, circuit: Circuit) -> None:
        self.fallbacks = 0
        self._primary = primary
        self._fallback = fallback
        self._circuit = circuit

    @override
    async def take(self, *, user_id: str) -> None:
        try:
            await self._circuit.call(lambda: self._primary.take(user_id=user_id))
        except StoreUnavailable:  # the circuit has logged and counted it
            self.fallbacks += 1
            await self._fallback.take(user_id=user_id)

    def figures(self) -> Mapping[str, float | str]:
        """For `/health/detailed`: the state of the circuit, and how many requests were counted here."""
        return {"fallbacks": self.fallbacks, **self._circuit.figures()}
