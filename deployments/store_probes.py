"""How the stores are, as `/health/detailed` and `/metrics` ask (DESIGN §7)."""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from memory.errors import StoreUnavailable
from memory.ports.record import SystemOfRecord
from storage.journaled_record import JournaledRecord

from .http.services import Probe
from .stores import ShortLived

_REST = 20.0
_PING_S = 0.5

Figures = Mapping[str, float | str]


class _Index(Protocol):
    async def ping(self) -> None: ...
    def figures(self) -> Figures: ...


def store_probes(*, record: SystemOfRecord, index: _Index, short_lived: ShortLived) -> dict[str, Probe]:
    """One probe a store; a store that something stands in for is `degraded`, not down."""
    counts_of = Seldom(record.backlog.counts)

    async def of_record() -> Figures:
        try:
            if "status" in record.figures():  # nobody may be writing, so nobody would notice that it is well again
                await _within(_PING_S, record.ping)
            counts = await counts_of()
        except StoreUnavailable as error:
            if isinstance(record, JournaledRecord):
                return {**record.figures(), **_degraded(error)}
            raise
        return {**counts, **record.figures()}

    async def of_index() -> Figures:
        try:
            await index.ping()
        except StoreUnavailable as error:
            return {**index.figures(), **_degraded(error)}
        return index.figures()

    async def of_sessions() -> Figures:
        try:
            await short_lived.sessions.ping()
        except StoreUnavailable as error:
            return {**short_lived.sessions.figures(), **_degraded(error)}
        return short_lived.sessions.figures()

    probes: dict[str, Probe] = {"record": of_record, "vectors": of_index, "sessions": of_sessions}
    if short_lived.limiter is not None:
        limiter = short_lived.limiter

        async def of_limiter() -> Figures:
            return limiter.figures()

        probes["rate_limits"] = of_limiter
    return probes


async def _within(seconds: float, ping: Callable[[], Awaitable[None]]) -> None:
    """Asks a store how it is, for a moment: one that takes longer is as it was."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ping()


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


def _degraded(error: StoreUnavailable) -> dict[str, str]:
    return {"status": "degraded", "error": error.message}
