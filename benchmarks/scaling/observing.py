"""Runs the phases of the scaling benchmark against the service, and records replicas and latencies."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common.workload import QUERIES, mixed_texts
from benchmarks.load.http import HttpCaller
from benchmarks.load.loops import poisson_schedule, run_closed_loop, run_open_loop
from benchmarks.scaling.timeline import TEXTS_A_CALL, Phase, Timeline
from deployments.config.settings import AppArgs
from deployments.host.cluster import ray_environment, running_address
from deployments.host.watch import Replicas, Snapshot

_TIMEOUT_S = 120.0


async def observe(settings: AppArgs, port: int, phases: Sequence[Phase], *, rate_per_s: float) -> Timeline:
    """Runs the phases, with chat messages at `rate_per_s` throughout, and returns the measurements."""
    async with HttpCaller(f"http://127.0.0.1:{port}") as http, _watching(settings.data_home) as snapshots:
        chats = [_body(user_id=f"user {n}", session_id="s", message=message) for n, message in enumerate(QUERIES * 8)]

        async def chat(index: int) -> str:
            return await http.send("POST", "/chat", chats[index % len(chats)])

        for _ in range(5):  # warm-up: models and word lists load at their first use
            await run_closed_loop(chat, callers=1, requests=len(QUERIES), timeout_s=_TIMEOUT_S)
        timeline = Timeline(phases, snapshots=snapshots)
        schedule = poisson_schedule(rate_per_s, timeline.seconds, seed=7)
        async with asyncio.TaskGroup() as group:
            chatting = group.create_task(run_open_loop(chat, schedule, seconds=timeline.seconds, timeout_s=_TIMEOUT_S))
            for phase in phases:
                group.create_task(_run_phase(timeline, phase, http, settings, port))
        timeline.chat = chatting.result()
        return timeline


async def _run_phase(timeline: Timeline, phase: Phase, http: HttpCaller, settings: AppArgs, port: int) -> None:
    texts = mixed_texts(8 * TEXTS_A_CALL)
    calls = [
        _body(input=texts[start : start + TEXTS_A_CALL], encoding_format="base64", input_type="passage")
        for start in range(0, len(texts), TEXTS_A_CALL)
    ]

    async def embed(index: int) -> str:
        return await http.send("POST", "/v1/embeddings", calls[index % len(calls)])

    await asyncio.sleep(phase.begin_s)
    if phase.callers and not phase.updates:
        timeline.bulk[phase.name] = await run_closed_loop(
            embed, callers=phase.callers, seconds=phase.seconds, timeout_s=_TIMEOUT_S
        )
    if phase.updates:
        begin = time.monotonic()
        work = run_closed_loop(embed, callers=phase.callers, seconds=phase.seconds, timeout_s=_TIMEOUT_S)
        timeline.bulk[phase.name], _ = await asyncio.gather(work, _update(settings, port))
        timeline.update_s = time.monotonic() - begin


async def _update(settings: AppArgs, port: int) -> None:
    """Deploys the service again with a changed setting that every replica gets, so that all replicas are replaced."""
    changed = settings.model_copy(update={"confidence_floor": settings.confidence_floor - 0.01})
    request = {
        "args": changed.to_send(),
        "address": running_address(settings.data_home),
        "host": "127.0.0.1",
        "port": port,
    }
    command = [sys.executable, "-m", "deployments.host.deploy", "up"]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=ray_environment(settings.data_home),
    )
    await process.communicate(json.dumps(request).encode())
    assert process.returncode == 0, "the update failed"


@contextlib.asynccontextmanager
async def _watching(home: Path) -> AsyncIterator[list[Snapshot]]:
    """The list to which `deployments.host.watch` adds snapshots until the end of the block."""
    command = [sys.executable, "-m", "deployments.host.watch", str(home), "--every", "0.5"]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 20,
    )
    snapshots: list[Snapshot] = []
    has_begun = asyncio.Event()

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            seen = json.loads(line)
            replicas = {name: Replicas(**counts) for name, counts in seen["replicas"].items()}
            snapshots.append(Snapshot(seen["time"], replicas, seen["waiting_tokens"]))
            has_begun.set()

    reading = asyncio.create_task(read())
    try:
        await has_begun.wait()
        yield snapshots
    finally:
        process.terminate()
        await process.wait()
        await reading


def _body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()
