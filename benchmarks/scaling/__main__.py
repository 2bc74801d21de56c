"""Idle, flood, recover, update: does the Embedder scale alone, does chat stay quick, is any request lost?

Theory: a flood on `/v1/embeddings` is work of batch priority. Its tokens wait in the Embedder alone, so only that
deployment's target may rise, some 5 s after the flood began (a mean over 5 s passes the target wait, then 2 s of
delay). Chat shares the cores with it, but the flood's threads take only what nobody else wants: `/chat` p95 should
stay below 1.5 times that of the idle service. When the flood has ended, replicas are ended one delay later; those that
have work finish it. An update of the settings replaces every replica; no request may fail meanwhile.

    python -m benchmarks.scaling --home FOLDER [--port 8125] [--idle 40] [--flood 60] [--recover 60] [--update 60]

Starts a service of its own in FOLDER and ends it. Chat is open-loop: latency counts from when a message was due.
Draws docs/img/scaling.png; the last line is JSON.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.common.workload import QUERIES, mixed_texts
from benchmarks.load.closed_loop import run_closed_loop
from benchmarks.load.http import HttpCaller
from benchmarks.load.open_loop import poisson_schedule, run_open_loop
from benchmarks.load.samples import Run
from benchmarks.scaling.plot import draw
from benchmarks.scaling.timeline import Phase, Timeline
from deployments.config.settings import AppArgs, EmbedderArgs
from deployments.host.cluster import SYNCHRONOUS_ENVIRONMENT, ray_environment, running_address
from deployments.host.watch import Replicas, Snapshot
from jiyi import service

_TIMEOUT_S = 120.0
_TEXTS_A_CALL = 64
_DOWNSCALE_DELAY_S = 15.0
_EMBEDDER = "Embedder"


def main() -> None:
    """Runs the phases, prints a table and one JSON line, and draws the timeline."""
    arguments = _arguments()
    settings = AppArgs(
        home=arguments.home, embedder=EmbedderArgs(threads=arguments.threads, downscale_delay_s=_DOWNSCALE_DELAY_S)
    )
    service.prepare(settings)
    endpoint = service.start(settings, host="127.0.0.1", port=arguments.port, timeout_s=600, on_wait=lambda _: None)
    try:
        timeline = asyncio.run(observe(settings, endpoint.port, _phases(arguments), rate_per_s=arguments.rate))
    finally:
        service.stop(settings, timeout_s=180)
    result = summary(timeline)
    _show(Console(), result)
    draw(timeline, arguments.out)
    print(json.dumps(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Idle, flood, recover, update.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8125)
    parser.add_argument("--threads", type=int, default=1, help="of one Embedder replica: less than the machine's cores")
    parser.add_argument("--callers", type=int, default=4, help="who flood the service, 64 texts a call")
    parser.add_argument("--rate", type=float, default=2.0, help="chat messages a second")
    for phase, seconds in {"idle": 40.0, "flood": 60.0, "recover": 60.0, "update": 60.0}.items():
        parser.add_argument(f"--{phase}", type=float, default=seconds, metavar="SECONDS")
    parser.add_argument("--out", type=Path, default=Path("docs/img/scaling.png"))
    return parser.parse_args()


def _phases(arguments: argparse.Namespace) -> list[Phase]:
    phases = [
        Phase("idle", arguments.idle),
        Phase("flood", arguments.flood, callers=arguments.callers),
        Phase("recover", arguments.recover, callers=1),
        Phase("update", arguments.update, callers=1, updates=True),
    ]
    for before, phase in itertools.pairwise(phases):
        phase.begin_s = before.begin_s + before.seconds
    return [phase for phase in phases if phase.seconds]


async def observe(settings: AppArgs, port: int, phases: Sequence[Phase], *, rate_per_s: float) -> Timeline:
    """Puts the service through the phases."""
    async with HttpCaller(f"http://127.0.0.1:{port}") as http, _watching(settings.data_home) as snapshots:
        chats = [_body(user_id=f"user {n}", session_id="s", message=message) for n, message in enumerate(QUERIES * 8)]

        async def chat(index: int) -> str:
            return await http.send("POST", "/chat", chats[index % len(chats)])

        for _ in range(5):  # the first turns load what is loaded when it is first used
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
    texts = mixed_texts(8 * _TEXTS_A_CALL)
    calls = [
        _body(input=texts[start : start + _TEXTS_A_CALL], encoding_format="base64", input_type="passage")
        for start in range(0, len(texts), _TEXTS_A_CALL)
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
    """Deploys the service again with another setting, which every replica is given: all of them are replaced."""
    changed = settings.model_copy(update={"confidence_floor": settings.confidence_floor - 0.01})
    request = {
        "args": changed.model_dump(mode="json"),
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
        env=ray_environment(),
    )
    await process.communicate(json.dumps(request).encode())
    assert process.returncode == 0, "the update failed"


@contextlib.asynccontextmanager
async def _watching(home: Path) -> AsyncIterator[list[Snapshot]]:
    """What `deployments.host.watch` sees, as long as this lasts."""
    command = [sys.executable, "-m", "deployments.host.watch", str(home), "--every", "0.5"]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 20,
        env=os.environ | SYNCHRONOUS_ENVIRONMENT,
    )
    snapshots: list[Snapshot] = []
    has_begun = asyncio.Event()

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            seen = json.loads(line)
            replicas = {name: Replicas(**each) for name, each in seen["replicas"].items()}
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


def summary(timeline: Timeline) -> dict[str, Any]:
    """The figures of each phase, and what the issue asks for."""
    assert timeline.chat is not None
    rows = []
    for phase in timeline.phases:
        end_s = phase.begin_s + phase.seconds
        chats = Run(
            [sample for sample in timeline.chat.samples if phase.begin_s <= sample.due_s < end_s], end_s, end_s, 0.0
        ).summary(since_s=phase.begin_s)
        bulk = timeline.bulk.get(phase.name)
        seen = [
            snapshot.replicas
            for snapshot in timeline.snapshots
            if phase.begin_s <= snapshot.time - timeline.began < end_s
        ]
        rows.append(
            {
                "phase": phase.name,
                "chat_p50_ms": chats.p50_ms,
                "chat_p95_ms": chats.p95_ms,
                "chats": chats.requests,
                "chat_failed": chats.failed,
                "chat_statuses": chats.statuses,
                "embeddings_per_s": round(sum(s.is_ok for s in bulk.samples) * _TEXTS_A_CALL / bulk.elapsed_s, 1)
                if bulk
                else 0,
                "bulk_failed": sum(not sample.is_ok for sample in bulk.samples) if bulk else 0,
                "most_embedders_wanted": max(replicas[_EMBEDDER].target for replicas in seen),
                "most_embedders_running": max(replicas[_EMBEDDER].running for replicas in seen),
                "others_that_scaled": sorted(
                    {
                        name
                        for replicas in seen
                        for name, each in replicas.items()
                        if name != _EMBEDDER and each.target != 1
                    }
                ),
            }
        )
    by_phase: dict[Any, dict[str, Any]] = {row["phase"]: row for row in rows}
    result: dict[str, Any] = {"benchmark": "scaling", "phases": rows, "update_s": timeline.update_s}
    if {"idle", "flood"} <= by_phase.keys():
        result["chat_p95_flood_over_idle"] = round(
            by_phase["flood"]["chat_p95_ms"] / by_phase["idle"]["chat_p95_ms"], 2
        )
        result["scale_up_asked_after_s"] = _scaled_up_after_s(timeline)
    return result


def _scaled_up_after_s(timeline: Timeline) -> float | None:
    """Seconds from the beginning of the flood until Serve wanted more Embedders; None where it never did."""
    [flood] = [phase for phase in timeline.phases if phase.name == "flood"]
    times = [
        snapshot.time - timeline.began - flood.begin_s
        for snapshot in timeline.snapshots
        if snapshot.replicas[_EMBEDDER].target > 1
    ]
    return round(times[0], 1) if times else None


def _body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def _show(console: Console, result: dict[str, Any]) -> None:
    table = Table(title="Chat and embedding side by side", title_justify="left")
    for column in result["phases"][0]:
        table.add_column(column.replace("_", " "), justify="left" if column == "phase" else "right")
    for row in result["phases"]:
        table.add_row(
            *(", ".join(value) or "none" if isinstance(value, list) else str(value) for value in row.values())
        )
    console.print(table)


if __name__ == "__main__":
    main()
