"""Open-loop load, where a request leaves when it is due (SERVING §5), and closed-loop load, where callers wait.

A closed loop stops asking while the server stalls, so it never sees the queue that real users would stand in: it finds
capacity. In the open loop arrivals are Poisson, as those of many independent users are, and latency is counted from the
intended send time.
"""

import asyncio
import math
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

    async def send_one(index: int, due_s: float) -> None:
        samples.append(await sent(send, index, due_s=due_s, begin=begin, timeout_s=timeout_s))

    async with asyncio.TaskGroup() as group:
        for index, due_s in enumerate(schedule):
            await asyncio.sleep(max(0.0, begin + due_s - clock()))
            group.create_task(send_one(index, due_s))
    return Run(samples, seconds, clock() - begin, time.process_time() - cpu)


async def run_closed_loop(
    send: Send, *, callers: int, requests: int | None = None, seconds: float = math.inf, timeout_s: float
) -> Run:
    """Lets callers send requests 0, 1, 2, …, each its next when the last was answered.

    Sending ends after so many requests or so much time; what is under way is waited for.

    Args:
        send: Sends one request.
        callers: Requests under way at once.
        requests: How many to send; None for as many as fit into `seconds`.
        seconds: When to stop sending.
        timeout_s: When to give a request up.

    Raises:
        ValueError: Neither bound is given.
    """
    if requests is None and math.isinf(seconds):
        raise ValueError("give requests or seconds")
    clock = asyncio.get_running_loop().time
    samples: list[Sample] = []
    next_index = 0
    cpu, begin = time.process_time(), clock()

    async def caller() -> None:
        nonlocal next_index
        while (requests is None or next_index < requests) and clock() - begin < seconds:
            index = next_index
            next_index += 1
            samples.append(await sent(send, index, due_s=None, begin=begin, timeout_s=timeout_s))

    await asyncio.gather(*(caller() for _ in range(callers)))
    elapsed_s = clock() - begin
    return Run(samples, min(seconds, elapsed_s), elapsed_s, time.process_time() - cpu)


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
