"""Measures the latency of chat turns under other load."""

import asyncio
import json

from benchmarks.common.workload import QUERIES
from benchmarks.load.http import HttpCaller
from benchmarks.load.loops import poisson_schedule, run_closed_loop, run_open_loop

_PER_S = 2.0
_TIMEOUT_S = 900.0


def chat_p95_ms(url: str, seconds: float) -> float:
    """95th percentile of turns that come at random, two a second, from when each was due."""
    bodies = [json.dumps({"user_id": "chatter", "session_id": "s", "message": query}).encode() for query in QUERIES]

    async def measure() -> float:
        async with HttpCaller(url) as http:

            async def chat(index: int) -> str:
                return await http.send("POST", "/chat", bodies[index % len(bodies)])

            await run_closed_loop(chat, callers=1, requests=2 * len(bodies), timeout_s=_TIMEOUT_S)
            run = await run_open_loop(
                chat, poisson_schedule(_PER_S, seconds, seed=7), seconds=seconds, timeout_s=_TIMEOUT_S
            )
        return run.summary().p95_ms

    return asyncio.run(measure())
