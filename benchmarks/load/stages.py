"""The stages of a load run: preparation, rest, capacity in a closed loop, then Poisson arrivals at shares of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.load.http import HttpCaller
from benchmarks.load.loops import Send, long_enough, poisson_schedule, run_closed_loop, run_open_loop
from benchmarks.load.samples import Run
from benchmarks.load.scenarios import PlannedRequest, Planner
from benchmarks.load.service_meter import ServiceMeter, Spent, spent

SHARES = (0.5, 0.7, 0.9)
CLOSED = "closed"
REFUSED = " with Retry-After"
"""Ends the status of a request that the service refused and told when to come back."""
_REST_S = 5.0
_LEARN_S = 300.0
_TIMEOUT_S = 30.0
_WARM_S = 3.0

Figures = dict[str, Any]


@dataclass(frozen=True)
class Stage:
    """One measured stage.

    Attributes:
        label: `closed`, or the share of capacity.
        requests: What was sent, by index of the samples.
        degraded: Replies that were made without some part.
        spent: By the service, until everything was learned.
        learned_s: How long learning went on after the last request.
    """

    label: str
    requests: Sequence[PlannedRequest]
    run: Run
    degraded: int
    spent: Spent
    learned_s: float

    @property
    def sustained_per_s(self) -> float:
        """Requests a second, with the time in which what they left was learned: what can go on for ever."""
        return self.run.summary().requests / (self.run.elapsed_s + self.learned_s)

    def figures(self) -> Figures:
        """The figures for the report, in total and by kind of request."""
        names = sorted({request.name for request in self.requests})
        return {
            "label": self.label,
            **asdict(self.run.summary()),
            "refused": sum(sample.status.endswith(REFUSED) for sample in self.run.samples),
            "degraded": self.degraded,
            "sustained_per_s": round(self.sustained_per_s, 3),
            "seconds": round(self.run.elapsed_s, 2),
            "client_cpu_s": round(self.run.client_cpu_s, 3),
            "learned_s": round(self.learned_s, 1),
            "spent": asdict(self.spent),
            "by_name": {name: self._only(name) for name in names},
        }

    def _only(self, name: str) -> Figures:
        samples = [sample for sample in self.run.samples if self.requests[sample.index].name == name]
        summary = asdict(Run(samples, self.run.seconds, self.run.elapsed_s, 0.0).summary())
        return {key: summary[key] for key in ("requests", "p50_ms", "p95_ms", "p99_ms", "statuses")}


class LoadRun:
    """All stages against one service.

    Args:
        caller: Open.
        callers: Requests under way at once where capacity is measured.
        tell: Told what is being done.
    """

    def __init__(
        self, caller: HttpCaller, meter: ServiceMeter, planner: Planner, *, callers: int, tell: Callable[[str], None]
    ) -> None:
        self._caller, self._meter, self._planner = caller, meter, planner
        self._callers = callers
        self._tell = tell
        self._degraded = 0

    async def prepare(self) -> Spent:
        """Gives each user its memories, warms up, and measures what the service spends while nobody asks."""
        self._tell("memories of the users")
        for request in self._planner.preparation():
            await self._caller.fetch(request.method, request.path, request.body)
        await self._meter.wait_until_learned(_LEARN_S)
        self._tell("warming up")
        send, _ = self._plan()
        await run_closed_loop(send, callers=self._callers, seconds=_WARM_S, timeout_s=_TIMEOUT_S)
        await self._meter.wait_until_learned(_LEARN_S)
        self._tell("at rest")
        before = await self._meter.read()
        await asyncio.sleep(_REST_S)
        return spent(before, await self._meter.read())

    async def closed(self, seconds: float, *, callers: int | None = None) -> Stage:
        """Callers send their next request as soon as the last is answered; measures capacity, or so many at once."""
        at_once = callers or self._callers
        self._tell(f"closed loop, {at_once} callers")

        def run(send: Send) -> Awaitable[Run]:
            return run_closed_loop(send, callers=at_once, seconds=seconds, timeout_s=_TIMEOUT_S)

        return await self._measured(f"{callers} clients" if callers else CLOSED, run)

    async def open(self, rate_per_s: float, seconds: float, *, label: str, seed: int) -> Stage:
        """Poisson arrivals at a rate."""
        self._tell(f"open loop, {rate_per_s:.1f} a second")
        seconds = long_enough(rate_per_s, seconds)
        schedule = poisson_schedule(rate_per_s, seconds, seed=seed)

        def run(send: Send) -> Awaitable[Run]:
            return run_open_loop(send, schedule, seconds=seconds, timeout_s=_TIMEOUT_S)

        return await self._measured(label, run)

    async def _measured(self, label: str, load: Callable[[Send], Awaitable[Run]]) -> Stage:
        """Runs a load and waits until what it left to learn is learned: that is part of what it costs."""
        send, requests = self._plan()
        before = await self._meter.read()
        self._degraded = 0
        run = await load(send)
        degraded = self._degraded
        learned_s = await self._meter.wait_until_learned(_LEARN_S)
        return Stage(label, requests, run, degraded, spent(before, await self._meter.read()), learned_s)

    def _plan(self) -> tuple[Send, list[PlannedRequest]]:
        """A way to send requests by number, and the list in which they are kept as they are drawn."""
        requests: list[PlannedRequest] = []

        async def send(index: int) -> str:
            while len(requests) <= index:
                requests.append(self._planner.draw())
            request = requests[index]
            answer = await self._caller.ask(request.method, request.path, request.body)
            self._degraded += bool(answer.degraded)
            return f"{answer.status}{REFUSED}" if answer.is_refusal else answer.status

        return send, requests
