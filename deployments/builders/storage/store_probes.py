"""The health of the stores, for `/health/detailed` and `/metrics` (DESIGN §7)."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol

from memory.maintenance.fact_jobs import PIPELINES
from memory.ports.jobs import RunLog
from memory.ports.stores.record import Backlog, SystemOfRecord
from memory.values.errors import StoreUnavailable
from memory.values.facts import FactStatus
from memory.values.predicates import CategoryName
from storage.resilience.journaled_record import JournaledRecord

from ...http.support.services import Probe
from ...telemetry.replicas import Figures
from .stores import ShortLived

_PAUSE_FACTOR = 20.0
_PING_S = 0.5
_FRESH_S = 5.0
"""For so long a ping of the record, which writes, says that the next write will succeed."""


class _Store(Protocol):
    async def ping(self) -> None: ...
    def figures(self) -> Figures: ...


def store_probes(*, record: SystemOfRecord, index: _Store, short_lived: ShortLived) -> dict[str, Probe]:
    """One probe for each store; a store with a substitute is `degraded` while it is unavailable, not down."""
    ping = PatientPing(record.ping, wait_s=_PING_S, fresh_s=_FRESH_S)
    counts_of = RateLimitedCounts(record.backlog.counts)

    async def of_record() -> Figures:
        try:
            await ping(again="status" in record.figures())
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


class PatientPing:
    """Pings a store and waits for a moment; one ping at a time, which continues when nobody waits for it.

    Args:
        ping: Pings the store.
        wait_s: Seconds to wait for it.
        fresh_s: Seconds for which an answer holds.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        ping: Callable[[], Coroutine[Any, Any, None]],
        *,
        wait_s: float,
        fresh_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ping = ping
        self._wait_s = wait_s
        self._fresh_s = fresh_s
        self._clock = clock
        self._good_until = -math.inf
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, *, again: bool = True) -> None:
        """Returns when the store has answered, or after `wait_s`.

        Args:
            again: Ask even if the last answer still holds.

        Raises:
            StoreUnavailable: The ping failed.
        """
        if not again and self._clock() < self._good_until:
            return
        ping = self._running = self._running or asyncio.create_task(self._ping())
        await asyncio.wait([ping], timeout=self._wait_s)
        if ping.done():
            self._running = None
            ping.result()
            self._good_until = self._clock() + self._fresh_s


class RateLimitedCounts:
    """Counts again only when twenty times as long has passed as the last count took: it may read whole tables.

    Args:
        count: Counts.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self, count: Callable[[], Awaitable[Mapping[str, float]]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._count = count
        self._clock = clock
        self._counts: Mapping[str, float] = {}
        self._good_until = -math.inf

    async def __call__(self) -> Mapping[str, float]:
        """New counts, or the last ones."""
        begin = self._clock()
        if begin >= self._good_until:
            self._counts = await self._count()
            self._good_until = self._clock() + _PAUSE_FACTOR * (self._clock() - begin)
        return self._counts


def facts_probe(record: SystemOfRecord) -> Probe:
    """The facts of all users by status and category, and the last run of each job over them (002 §8.4)."""
    totals_of = RateLimitedCounts(partial(_fact_figures, record.backlog))

    async def ask() -> Figures:
        try:
            return {**await totals_of(), **await _run_figures(record.runs)}
        except StoreUnavailable:
            return {}  # that is told of the record itself

    return ask


async def _fact_figures(backlog: Backlog) -> dict[str, float]:
    """The number of facts by status, that of active ones by category, and the mean confidence of these."""
    totals = await backlog.fact_totals()
    figures: dict[str, float] = {status.value: 0 for status in FactStatus}
    figures |= {f"active_{category.value}": 0 for category in CategoryName}
    for total in totals:
        figures[total.status.value] += total.count
    active = [total for total in totals if total.status is FactStatus.ACTIVE]
    figures |= {f"active_{total.category}": total.count for total in active}
    if active:
        weighted = math.fsum(total.count * total.confidence for total in active)
        figures["confidence"] = weighted / figures[FactStatus.ACTIVE.value]
    return figures


async def _run_figures(runs: RunLog) -> dict[str, float | str]:
    """State and begin of the last run of each job, also in seconds since 1970, for alerts."""
    figures: dict[str, float | str] = {}
    for kind, pipeline in PIPELINES.items():
        for run in await runs.latest(pipeline):
            figures |= {
                f"{kind.value}_run": run.state.value,
                f"{kind.value}_started": run.started_at.isoformat(),
                f"{kind.value}_started_s": run.started_at.timestamp(),
            }
    return figures


def _degradable(store: _Store) -> Probe:
    """The probe of a store that the service can work without for a while: `degraded` at worst, never down."""

    async def ask() -> Figures:
        try:
            await store.ping()
        except StoreUnavailable as error:
            return {**store.figures(), **_degraded(error)}
        return store.figures()

    return ask


def _degraded(error: StoreUnavailable) -> dict[str, str]:
    return {"status": "degraded", "error": error.message}
