"""Locks and rate limits that several processes share (DESIGN §7, Redis)."""

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager


class Locks(ABC):
    """Named locks that outlive no process for long."""

    @abstractmethod
    def held(self, name: str, *, ttl_s: float = 30.0) -> AbstractAsyncContextManager[bool]:
        """Tries to take the lock and does not wait: yields whether this caller has it.

        It is renewed while the block runs, and free again when the block ends, or `ttl_s` after its holder died.

        Raises:
            StoreUnavailable: The store cannot answer; nobody is given the lock.
        """


class RateLimiter(ABC):
    """Limits how many requests a user may send."""

    @abstractmethod
    async def take(self, *, user_id: str) -> None:
        """Counts a request.

        Raises:
            Overloaded: The user has sent too many; says when the next one may come.
            StoreUnavailable: The store cannot answer.
        """
