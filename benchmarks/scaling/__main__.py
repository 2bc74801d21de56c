"""Measures whether the Embedder scales alone, chat stays fast and no request is lost under a flood and an update.

Theory: a flood on `/v1/embeddings` is work of batch priority. Its tokens wait in the Embedder alone, so only that
deployment's target may rise, some 5 s after the flood began (a mean over 5 s passes the target wait, then 2 s of
delay). Chat shares the cores with it, but the flood's threads run at a lower priority: `/chat` p95 should
stay below 1.5 times that of the idle service. When the flood has ended, replicas are ended one delay later; those that
have work finish it. An update of the settings replaces every replica; no request may fail meanwhile.

    python -m benchmarks.scaling --home FOLDER [--port 8125] [--idle 40] [--flood 60] [--recover 60] [--update 60]

Starts a service of its own in FOLDER and ends it. Chat is open-loop: latency counts from when a message was due.
Draws docs/img/scaling.png; the last line is JSON.
"""

import argparse
import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.scaling.observing import observe
from benchmarks.scaling.plot import draw
from benchmarks.scaling.timeline import Phase, summary
from deployments.config.model_settings import EmbedderArgs
from deployments.config.settings import AppArgs
from jiyi import service

_DOWNSCALE_DELAY_S = 15.0


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
    parser.add_argument("--callers", type=int, default=4, help="concurrent callers of the flood, 64 texts a call")
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
