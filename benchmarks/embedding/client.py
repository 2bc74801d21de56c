"""The generator: asks one contestant, in a process of its own, so that its share of the CPU is known.

    python -m benchmarks.embedding.client < job.json

Reads a job, writes one JSON line a measurement. Runs in the environment of the contestant where that is a library.
"""

import asyncio
import base64
import json
import math
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.embedding.transports import InProcess, Transport, open_transport
from benchmarks.embedding.workloads import WORKLOADS, Workload, checked_requests
from benchmarks.load.loops import long_enough, poisson_schedule, run_closed_loop, run_open_loop

_TIMEOUT_S = 20.0
_CLOSED_TIMEOUT_S = 300.0
"""Where capacity is measured, all of the work has to be done."""
_WARM_REQUESTS = 8
_UNCOUNTED_S = 0.5
"""At the start of an open loop, until queues have formed."""
_SATURATED = 0.95
"""Above this share of its own capacity a contestant is not asked: only the backlog would be measured."""


async def measure(job: dict[str, Any]) -> None:
    """Runs what the job asks for, in order; says `begin` before each measurement.

    Args:
        job: `transport`; `check`, to have vectors written; `closed`, names of workloads with `scale` of their requests;
            `open`, pairs of a workload and of `{"share": of its capacity}` or `{"rate": a second}`, for `seconds` each.
    """
    capacities: dict[str, float] = {}
    async with open_transport(job["transport"]) as transport:
        if job.get("check"):
            await _check(transport)
        for name in job.get("closed", ()):
            capacities[name] = await _closed(transport, name, job["scale"])
        for number, (name, load) in enumerate(job.get("open", ())):
            rate = load["rate"] if "rate" in load else load["share"] * capacities[name]
            if rate <= _SATURATED * capacities[name]:
                await _open(transport, name, load, rate, job["seconds"], job["seed"] + number)


async def _check(transport: Transport) -> None:
    requests = checked_requests()
    vectors = [await transport.vectors(request) for request in requests]
    written = [[base64.b64encode(row.astype("<f4").tobytes()).decode() for row in matrix] for matrix in vectors]
    _say("check", {"vectors": written})
    if isinstance(transport, InProcess):
        plans = {name: workload.plan(workload.requests) for name, workload in WORKLOADS.items()}
        _say(
            "lengths",
            {name: [n for request in plan for n in transport.token_counts(request)] for name, plan in plans.items()},
        )


async def _closed(transport: Transport, name: str, scale: float) -> float:
    workload = WORKLOADS[name]
    requests = max(workload.callers, math.ceil(workload.requests * scale))
    transport.prepare(workload.plan(requests))
    warm = min(_WARM_REQUESTS, workload.callers)
    await run_closed_loop(transport.send, callers=warm, requests=warm, timeout_s=_CLOSED_TIMEOUT_S)
    _say("begin", {})
    run = await run_closed_loop(
        transport.send, callers=workload.callers, requests=requests, timeout_s=_CLOSED_TIMEOUT_S
    )
    summary = run.summary()
    _say("closed", {"workload": name, "texts_per_s": _texts(workload, summary.completed_per_s), **asdict(summary)})
    return summary.completed_per_s


async def _open(
    transport: Transport, name: str, load: dict[str, float], rate: float, seconds: float, seed: int
) -> None:
    measured_s = _UNCOUNTED_S + long_enough(rate, seconds)
    schedule = poisson_schedule(rate, measured_s, seed=seed)
    transport.prepare(WORKLOADS[name].plan(len(schedule)))
    _say("begin", {})
    run = await run_open_loop(transport.send, schedule, seconds=measured_s, timeout_s=_TIMEOUT_S)
    _say("open", {"workload": name, **load, "rate": round(rate, 2), **asdict(run.summary(since_s=_UNCOUNTED_S))})


def _texts(workload: Workload, requests_per_s: float) -> float:
    return round(requests_per_s * workload.texts_each, 2)


def _say(what: str, figures: dict[str, Any]) -> None:
    print(json.dumps({"what": what, **figures}), flush=True)


if __name__ == "__main__":
    asyncio.run(measure(json.load(sys.stdin)))
