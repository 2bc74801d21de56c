"""What a user sees while a store fails: each store, each fault, over HTTP, with what was acknowledged counted after.

Theory: a turn waits for a failing store once, up to its deadline (record 5 s, vectors 4 s, Redis 1 s), and then not at
all, since the circuit is open; only a record that nothing stands in for (SQLite) refuses the turn, with 503. After the
fault, everything answers again within the circuits' 2 s and a probe's second; nothing acknowledged is lost or doubled.

    python -m benchmarks.faults [--home FOLDER] [--stores embedded servers]

Starts services of its own and ends them. The last line is JSON.
"""

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from testing.store_faults.observing import Outcome, observe
from testing.store_faults.services import embedded_service, service_on_servers

SERVICES = {"embedded": embedded_service, "servers": service_on_servers}


def table(found: list[Outcome]) -> Table:
    """A table with one row for each fault."""
    shown = Table(title="What a user sees while a store fails", title_justify="left")
    for column in (
        "store",
        "fault",
        "replies",
        "seconds",
        "done without",
        "resolved",
        "not ok",
        "recovered, s",
        "lost",
    ):
        shown.add_column(column)
    for outcome in found:
        shown.add_row(
            outcome.store,
            outcome.fault,
            " ".join(map(str, outcome.statuses)),
            " ".join(f"{seconds:g}" for seconds in outcome.seconds),
            ", ".join(outcome.degraded) or "nothing",
            f"{outcome.resolved}/{outcome.acknowledged}",
            ", ".join(outcome.health),
            f"{outcome.recovery_s:g}",
            f"{outcome.lost}, {outcome.doubled} doubled",
        )
    return shown


def main() -> None:
    """Runs every fault and prints a table, what health said, and one JSON line."""
    parser = argparse.ArgumentParser(description="Fails every store in every way.")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--stores", nargs="*", choices=SERVICES, default=list(SERVICES))
    arguments = parser.parse_args()
    console = Console(width=200)
    found: dict[str, list[Outcome]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.stores:
            found[name] = []
            with (
                SERVICES[name]((arguments.home or Path(folder)) / name) as service,
                Progress(console=console) as progress,
            ):
                for fault in progress.track(service.faults, description=name):
                    found[name].append(observe(service, fault))
            console.print(table(found[name]))
            for outcome in found[name]:
                console.print(f"{outcome.store}, {outcome.fault}: {outcome.explained}", soft_wrap=True)
    rows = [{"stores": name, **asdict(outcome)} for name, all_ in found.items() for outcome in all_]
    print(json.dumps({"benchmark": "faults", "outcomes": rows}, ensure_ascii=False))


if __name__ == "__main__":
    main()
