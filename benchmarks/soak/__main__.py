"""Load for an hour while a process is killed each minute: what is lost, refused or slow, and whether memory grows.

Theory. At 70% of what the service sustains, Poisson arrivals wait little, and what piles up while a part starts again
is worked off within the minute. A turn is acknowledged after it is in the raw log and has an id, so a client that
repeats it until then neither loses nor doubles it, whatever dies. A part that is away is waited for, left out
(`degraded`) or announced (503 with `Retry-After`); only what dies between client and ingress breaks connections.
Memory is bounded by caches of fixed size and by what the users have stored.

    python -m benchmarks.soak --home DIR [--minutes 60] [--load 0.7] [--kill-every 60] [--victims NAME …]
        [--plot docs/img/soak.png] [--report soak.json]

Starts a service of its own in DIR, without limits a user, measures what it sustains, and ends it. Kills rotate over all
replicas, the session server, the proxy, HAProxy and Serve's controller. Afterwards every acknowledged turn is looked
for in the system of record. The last line is JSON.
"""

import argparse
import asyncio
import contextlib
import json
import os
import time
import uuid
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.common.killing import NotRecovered, recovery_s, stored_texts
from benchmarks.load.http import HttpCaller
from benchmarks.load.loops import poisson_schedule, run_open_loop
from benchmarks.load.report import wide_console
from benchmarks.load.samples import Run
from benchmarks.load.scenarios import NAMES, Planner, load_scenario
from benchmarks.load.service_meter import ServiceMeter
from benchmarks.load.stages import LoadRun
from benchmarks.soak.kills import VICTIMS, Killer
from benchmarks.soak.report import Figures, plot, show, summarise
from benchmarks.soak.traffic import Traffic
from deployments.config.settings import AppArgs
from deployments.host.supervisor import Endpoint
from jiyi import service

_TIMEOUT_S = 60.0
_SETTLE_S = 300.0
_UNLIMITED = {"JIYI_LIMITS__REQUESTS_PER_MINUTE": "0", "JIYI_LIMITS__KEY_REQUESTS_PER_MINUTE": "0"}


def main() -> None:
    """Soaks, draws, and prints tables and one JSON line."""
    arguments = _arguments()
    for name, value in _UNLIMITED.items():
        os.environ.setdefault(name, value)
    settings = service.load_settings(arguments.home)
    service.prepare(settings)
    console = wide_console()
    console.print("starting the service")
    endpoint = service.start(settings, host="127.0.0.1", port=arguments.port, timeout_s=300, on_wait=lambda _: None)
    try:
        figures = asyncio.run(_soak(arguments, settings, endpoint))
    finally:
        service.stop(settings, timeout_s=120)
    show(console, figures)
    if arguments.report:
        arguments.report.write_text(json.dumps(figures, indent=1, ensure_ascii=False))
    print(json.dumps(figures, ensure_ascii=False))


async def _soak(arguments: argparse.Namespace, settings: AppArgs, endpoint: Endpoint) -> Figures:
    planner = Planner(load_scenario(arguments.scenario), prefix=f"soak-{uuid.uuid4().hex[:8]}", seed=arguments.seed)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        async with HttpCaller(endpoint.url) as caller:
            meter = ServiceMeter(caller, settings.data_home)
            rate = arguments.rate or arguments.load * await _capacity(arguments, caller, meter, planner, progress)
            schedule = poisson_schedule(rate, arguments.minutes * 60, seed=arguments.seed)
            task = progress.add_task(f"{rate:.1f} requests a second", total=len(schedule))
            began, started = time.monotonic(), datetime.now(UTC)
            traffic = Traffic(caller, planner, began, on_end=lambda: progress.advance(task))
            killer = Killer(
                settings,
                endpoint,
                began,
                arguments.kill_every,
                tell=progress.console.print,
                victims=arguments.victims or VICTIMS,
            )
            run = await _under_kills(traffic, killer, schedule, arguments.minutes * 60)
            await _settle(endpoint, meter)
        kept = await _kept(settings.data_home, planner.users, traffic)
    if arguments.plot:
        plot(run, traffic, killer, arguments.plot)
    about = {"benchmark": "soak", "scenario": arguments.scenario, "minutes": arguments.minutes, "rate": round(rate, 2)}
    restarts = {"cluster_restarts": _cluster_restarts(settings, started)}
    return about | restarts | summarise(run, traffic, killer, kept)


async def _capacity(
    arguments: argparse.Namespace, caller: HttpCaller, meter: ServiceMeter, planner: Planner, progress: Progress
) -> float:
    """Requests a second that the service sustains, what they leave to learn included."""
    task = progress.add_task("", total=None)
    load = LoadRun(
        caller,
        meter,
        planner,
        callers=arguments.callers,
        tell=lambda what: progress.update(task, description=f"capacity: {what}"),
    )
    await load.prepare()
    stage = await load.closed(arguments.capacity_seconds)
    progress.update(task, description=f"capacity: {stage.sustained_per_s:.1f} requests a second", total=1, completed=1)
    return stage.sustained_per_s


async def _under_kills(traffic: Traffic, killer: Killer, schedule: list[float], seconds: float) -> Run:
    measuring = asyncio.create_task(killer.measure_memory())
    killing = asyncio.create_task(killer.run(seconds))
    run = await run_open_loop(traffic.send, schedule, seconds=seconds, timeout_s=_TIMEOUT_S)
    await traffic.finish()
    await killing
    measuring.cancel()
    await asyncio.wait([measuring])
    return run


async def _settle(endpoint: Endpoint, meter: ServiceMeter) -> None:
    """Waits until every part answers and everything is learned."""
    with contextlib.suppress(NotRecovered, aiohttp.ClientError):
        await asyncio.to_thread(recovery_s, endpoint.url, time.monotonic())
        await meter.wait_until_learned(_SETTLE_S)


def _cluster_restarts(settings: AppArgs, since: datetime) -> int:
    """How often the supervisor has started everything again."""
    lines = map(json.loads, (settings.log_folder / "supervisor.jsonl").read_text().splitlines())
    return sum(line["event"] == "service_lost" and datetime.fromisoformat(line["timestamp"]) > since for line in lines)


async def _kept(home: Path, users: list[str], traffic: Traffic) -> dict[str, int]:
    """How the acknowledged turns are in the record, and whether one that was given up is there more than once."""
    logged, remembered = await stored_texts(home, users)
    sent = Counter(traffic.acknowledged.values())
    return {
        "acknowledged": len(traffic.acknowledged),
        "given_up": len(traffic.given_up),
        "lost": sum(not logged[text] for text in sent),
        "doubled": sum(logged[text] > 1 or remembered[text] > 1 for text in (*sent, *traffic.given_up.values())),
        "not_remembered": sum(not remembered[text] for text in sent),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--port", type=int, default=8124)
    parser.add_argument("--scenario", default="chat", help=f"{', '.join(NAMES)}, or the path of a YAML file")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--load", type=float, default=0.7, help="share of what the service sustains")
    parser.add_argument("--rate", type=float, help="requests a second, in place of a share of what is measured")
    parser.add_argument("--kill-every", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--victims", nargs="*", help=f"only these of {', '.join(VICTIMS)}")
    parser.add_argument("--callers", type=int, default=16, help="requests at once where capacity is measured")
    parser.add_argument("--capacity-seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="PNG or SVG")
    parser.add_argument("--report", type=Path, help="file for the JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
