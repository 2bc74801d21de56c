"""Closed-loop load: some callers, each of which sends its next request when the last was answered. Finds capacity."""

import asyncio
import math
import time

from benchmarks.load.open_loop import Send, sent
from benchmarks.load.samples import Run, Sample


async def run_closed_loop(
    send: Send, *, callers: int, requests: int | None = None, seconds: float = math.inf, timeout_s: float
) -> Run:
    """Sends requests 0, 1, 2, … until so many were sent or so much time went by, and waits for the answers.

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
