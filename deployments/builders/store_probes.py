"""How the stores are, as `/health/detailed` and `/metrics` ask (DESIGN §7)."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from memory.ports.record import SystemOfRecord
from memory.values.errors import StoreUnavailable
from storage.resilience.journaled_record import JournaledRecord

from ..http.support.services import Probe
from ..telemetry.replicas import Figures
from .stores import ShortLived

_REST = 20.0
_PING_S = 0.5


class _Store(Protocol):
    async def ping(self) -> None: ...
    def figures(self) -> Figures: ...


def store_probes(*, record: SystemOfRecord, index: _Store, short_lived: ShortLived) -> dict[str, Probe]:
    """One probe a store; a store that something stands in for is `degraded`, not down."""
    ping = Patiently(record.ping, wait_s=_PING_S)
    counts_of = Seldom(record.backlog.counts)

    async def of_record() -> Figures:
        try:
            if "status" in record.figures():  # nobody may be writing, so nobody would notice that it is well again
                await ping()
            counts = await counts_of()
        except StoreUnavailable as error:
            if isinstance(record, JournaledRecord):
                return {**record.figures(), **_degraded(error)}
            raise
        return {**counts, **record.figures()}

    probes: dict[str, Probe] = {
        "record": of_record,
        "vectors": _degradable(index),
        "sessions": _degradable(short_lived.sessions),
    }
    if short_lived.limiter is not None:
        limiter = short_lived.limiter

        async def of_limiter() -> Figures:
            return limiter.figures()

        probes["rate_limits"] = of_limiter
    return probes


class Patiently:
    """Asks a store how it is and waits for a moment; one question at a time, which goes on when nobody waits for it.

    Args:
        ping: What is asked.
        wait_s: For how long.
    """

    def __init__(self, ping: Callable[[], Coroutine[Any, Any, None]], *, wait_s: float) -> None:
        self._ping = ping
        self._wait_s = wait_s
        self._asked: asyncio.Task[None] | None = None

    async def __call__(self) -> None:
        """Returns when the store has answered, or has not in this time.

        Raises:
            StoreUnavailable: It is not well.
        """
        asked = self._asked = self._asked or asyncio.create_task(self._ping())
        await asyncio.wait([asked], timeout=self._wait_s)
        if asked.done():
            self._asked = None
            asked.result()


class Seldom:
    """Asks again only when twenty times as long has passed as the last answer took: counting may read whole tables.

    Args:
        ask: What is asked.
        clock: Seconds that never go back.
    """

    def __init__(
        self, ask: Callable[[], Awaitable[Mapping[str, int]]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._answer: Mapping[str, int] = {}
        self._good_until = -math.inf

    async def __call__(self) -> Mapping[str, int]:
        """The answer, or the last one."""
        begin = self._clock()
        if begin >= self._good_until:
            self._answer = await self._ask()
            self._good_until = self._clock() + _REST * (self._clock() - begin)
        return self._answer


def _degradable(store: _Store) -> Probe:
    """The probe of a store that the service can do without for a while: `degraded` at worst, never down."""

    async def ask() -> Figures:
        try:
            await store.ping()
        except StoreUnavailable as error:
            return {**store.figures(), **_degraded(error)}
        return store.figures()

    return ask


def _degraded(error: StoreUnavailable) -> dict[str, str]:
    return {"status": "degraded", "error": error.message}
