"""The connections of a process to its Redis-protocol server, and their errors explained (STORES, Redis / Valkey)."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import LockError, RedisError

from memory.values.errors import StoreUnavailable

T = TypeVar("T")

_READ_ONLY = "READONLY"
_CAUSES = {
    "WRONGPASS": "the user or the password in its URL is wrong",
    "INVALID USERNAME-PASSWORD": "the user or the password in its URL is wrong",
    "NOAUTH": "it asks for a password, and its URL has none",
    "HELLO MUST BE CALLED": "it asks for a password, and its URL has none",
    "NOPERM": "its user may not run a command that is needed",
    _READ_ONLY: "it is a read-only replica: its URL must name the primary",
    "OOM": "its memory is full",
    "MISCONF": "it cannot save to its disk, and so refuses to write",
    "LOADING": "it is still loading its data",
    "MASTERDOWN": "it is a replica that has lost its primary",
    "NOREPLICAS": "it has too few replicas to write",
    "CLUSTERDOWN": "its cluster is down",
    "MOVED": "it is one node of a cluster: its URL must name a server of its own or a proxy",
    "UNKNOWN COMMAND": "it does not know a command of Redis 6.0, the oldest that will do",
    "MAX NUMBER OF CLIENTS": "it has too many clients",
    "NO CONNECTION AVAILABLE": "all connections to it are in use",
    "BUSY REDIS": "it is busy with a script",
    "CONNECTION LOST": "the connection broke",
    "CONNECTION CLOSED": "the connection broke",
    "CONNECTION RESET": "the connection broke",
}
"""Parts of error messages, in capitals, and their cause in an operator's terms; the first that occurs counts."""
_LONGEST_QUOTE = 200


class RedisClient:
    """One connection pool, shared by everything in a process that uses Redis.

    The server must be Redis 6.0, or any Valkey: connections begin with HELLO, and scripts both ask the time and write.
    A broken connection is tried once more, so that a server that was restarted is not noticed; a missed deadline is
    not, since a slow server has enough to do.

    Args:
        url: `redis://…`, `rediss://…` or `unix:///path`.
        max_connections: How many commands may run at once; more wait.
        timeout_s: How long a call may take in all: for a connection, the answer and another try.

    Attributes:
        is_local: Whether the server is this program's own, on a socket of this machine.
    """

    def __init__(self, url: str, *, max_connections: int = 32, timeout_s: float = 1.0) -> None:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=max_connections,
            timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            socket_timeout=timeout_s,
            retry=Retry(ExponentialBackoff(cap=0.05, base=0.01), retries=1, supported_errors=(RedisConnectionError,)),
        )
        self.commands: Redis = Redis.from_pool(pool)
        self.is_local = url.startswith("unix:")
        self._timeout_s = timeout_s

    async def ask(self, answer: Awaitable[T], *, component: str) -> T:
        """Awaits the answer to a command.

        Args:
            answer: What a method of `commands` returned.
            component: For whom, in errors.

        Raises:
            StoreUnavailable: There is no answer in time, or the server refuses; says why.
            LockError: Of `redis`: a lock is not ours any more.
        """
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                return await answer
        except LockError:
            raise
        except (RedisError, OSError) as error:  # OSError: includes the timeouts of asyncio
            quote = _message_of(error)
            if limit.expired() or isinstance(error, TimeoutError):
                cause = f"it did not answer within {self._timeout_s:g} s"
            else:
                cause = explain(quote)
            if _READ_ONLY in quote:
                # After a failover, the next call is to find the new primary under the same name.
                await self.commands.connection_pool.disconnect(inuse_connections=False)
            raise StoreUnavailable(f"Redis cannot serve {component}: {cause}.", component=component) from error

    async def close(self) -> None:
        """Closes all connections."""
        await self.commands.aclose()


def explain(quote: str) -> str:
    """The cause behind an error message, with the message itself."""
    message = quote.upper()
    cause = next((cause for words, cause in _CAUSES.items() if words in message), None)
    return f"{cause} ({quote})" if cause else quote


def _message_of(error: Exception) -> str:
    code = getattr(error, "status_code", None)  # redis-py cuts it off the text
    words = f"{code} {error}" if code else str(error)
    return " ".join(words.split()).rstrip(".")[:_LONGEST_QUOTE] or type(error).__name__
