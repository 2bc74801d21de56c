"""Open-loop load: a request leaves when it is due, whether or not earlier ones were answered (SERVING §5).

A closed loop stops asking while the server stalls, so it never sees the queue that real users would stand in. Here
arrivals are Poisson, as those of many independent users are, and latency is counted from the intended send time.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.load.samples import TIMEOUT, Run, Sample

_LEAST_REQUESTS = 20
Send = Callable[[int], Awaitable[str]]
"""Sends request number `index` of a plan and says how it ended: the HTTP status, or the name of the error."""


def poisson_schedule(rate_per_s: float, seconds: float, *, seed: int) -> list[float]:
    """Send times in [0, seconds): a Poisson process, the same for the same seed.

    Raises:
        ValueError: The rate or the time is not positive.
    """
    if rate_per_s <= 0 or seconds <= 0:
        raise ValueError("rate and time must be positive")
    chooser = random.Random(seed)
    times = []
    due = chooser.expovariate(rate_per_s)
    while due < seconds:
        times.append(due)
        due += chooser.expovariate(rate_per_s)
    return times


def long_enough(rate_per_s: float, seconds: float) -> float:
    """So long, or until enough requests are expected for a percentile to say something."""
    return max(seconds, _LEAST_REQUESTS / rate_per_s)


async def run_open_loop(send: Send, schedule: Sequence[float], *, seconds: float, timeout_s: float) -> Run:
    """Sends one request at each time of the schedule and waits for the answers.

    Args:
        send: Sends one request.
        schedule: Send times in rising order, in seconds from now.
        seconds: How long the schedule is meant to be.
        timeout_s: When to give a request up, from when it left.
    """
    clock = asyncio.get_running_loop().time
    samples: list[Sample] = []
    cpu, begin = time.process_time(), clock()

    async def one(index: int, due_s: float) -> None:
        samples.append(await sent(send, index, due_s=due_s, begin=begin, timeout_s=timeout_s))

    async with asyncio.TaskGroup() as group:
        for index, due_s in enumerate(schedule):
            await asyncio.sleep(max(0.0, begin + due_s - clock()))
            group.create_task(one(index, due_s))
    return Run(samples, seconds, clock() - begin, time.process_time() - cpu)


async def sent(send: Send, index: int, *, due_s: float | None, begin: float, timeout_s: float) -> Sample:
    """Sends one request, now; its due time is now where none is given."""
    clock = asyncio.get_running_loop().time
    left_s = clock() - begin
    try:
        async with asyncio.timeout(timeout_s):
            status = await send(index)
    except TimeoutError:
        status = TIMEOUT
    return Sample(index, left_s if due_s is None else due_s, left_s, clock() - begin, status)
