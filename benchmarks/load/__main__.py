"""Load on a running service: capacity in a closed loop, then the truth in an open one.

Theory. A closed loop finds how much goes through and hides how long people wait; Poisson arrivals at 50, 70 and 90% of
that show it, since latency counts from the moment at which a request was due. By M/M/c the wait is still small at 70%
and several service times at 90%. Learning goes on behind the replies, on the same cores: the closed loop leaves a
backlog, so each stage ends when everything is learned, and what that costs is counted as its own. Capacity is what can
be sustained: the closed loop's requests over the time until they are learned.

    python -m benchmarks.load --url http://127.0.0.1:8000 --scenario mixed --out DIR [--home DIR] [--seconds 20]
        [--callers 16] [--clients 20,100,300] [--quick]

What the service refused (429 or 503 with `Retry-After`) is counted apart from what failed; so are `degraded` replies.

With `--home`, the folder of a service on this machine, CPU seconds by deployment are measured too, which
`python -m benchmarks.load.capacity DIR/load.json` makes a capacity model of. Writes users of its own into the service.
Written: `load.json`, `latency.png`, `timeline.png`; the last line is JSON.
"""

import argparse
import asyncio
import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn

from benchmarks.load.http import HttpCaller
from benchmarks.load.report import plot_by_load, plot_timeline, show, wide_console
from benchmarks.load.scenarios import NAMES, Planner, Scenario, load_scenario
from benchmarks.load.service_meter import ServiceMeter, Spent
from benchmarks.load.stages import SHARES, LoadRun, Stage

_QUICK_S = 5.0


def main() -> None:
    """Runs all stages, writes the report and prints a table and one JSON line."""
    arguments = _arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    report, stages = asyncio.run(_measure(arguments))
    (arguments.out / "load.json").write_text(json.dumps(report, indent=1))
    if not arguments.clients:
        plot_by_load(report, arguments.out / "latency.png")
    plot_timeline(stages, arguments.out / "timeline.png")
    show(wide_console(), report)
    print(json.dumps(report))


async def _measure(arguments: argparse.Namespace) -> tuple[dict[str, Any], list[Stage]]:
    scenario = load_scenario(arguments.scenario)
    planner = Planner(scenario, prefix=f"load-{uuid.uuid4().hex[:8]}", seed=arguments.seed)
    seconds = _QUICK_S if arguments.quick else arguments.seconds
    console = Console(stderr=True)
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=2 + len(SHARES))
        async with HttpCaller(arguments.url) as caller:
            meter = ServiceMeter(caller, arguments.home)
            load = LoadRun(
                caller,
                meter,
                planner,
                callers=arguments.callers,
                tell=lambda what: progress.update(task, description=what),
            )
            rest = await load.prepare()
            progress.advance(task)
            if arguments.clients:
                stages = [await load.closed(seconds, callers=callers) for callers in arguments.clients]
                return _report(arguments, scenario, rest, stages), stages
            stages = [await load.closed(seconds)]
            progress.advance(task)
            capacity = stages[0].sustained_per_s
            for number, share in enumerate(SHARES):
                label = f"{share:.0%}"
                stages.append(await load.open(share * capacity, seconds, label=label, seed=arguments.seed + number))
                progress.advance(task)
    return _report(arguments, scenario, rest, stages), stages


def _report(arguments: argparse.Namespace, scenario: Scenario, rest: Spent, stages: list[Stage]) -> dict[str, Any]:
    return {
        "benchmark": "load",
        "scenario": arguments.scenario,
        "about": scenario.about,
        "users": scenario.users,
        "think_s": scenario.think_s,
        "cores": os.cpu_count(),
        "callers": arguments.callers,
        "rest": asdict(rest),
        "stages": [stage.figures() for stage in stages],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--scenario", default="mixed", help=f"{', '.join(NAMES)}, or the path of a YAML file")
    parser.add_argument("--out", type=Path, required=True, help="folder for load.json and the plots")
    parser.add_argument("--home", type=Path, help="the service's home, to measure what its deployments spend")
    parser.add_argument("--seconds", type=float, default=20.0, help="of one stage")
    parser.add_argument("--callers", type=int, default=16, help="requests at once in the closed loop")
    parser.add_argument(
        "--clients", type=_numbers, help="numbers such as 20,100,300: closed loops with so many at once, and no others"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help=f"stages of {_QUICK_S:g} s")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


if __name__ == "__main__":
    main()
