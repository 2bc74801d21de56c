"""`kill -9` at random points of random write sequences: what is lost, doubled or torn.

Theory: a commit is acknowledged after it is in SQLite's log, an upsert after it is in the engine's log, and both logs
are read when the files are opened again; the outbox entry is taken off after the upsert. So nothing acknowledged is
lost whenever a process dies, the write in flight is there whole or not at all, and draining the outbox makes the
index equal to the record. Predicted: 0 lost, 0 doubled, 0 torn, 0 points wrong.

A power cut: the record's commits wait for the disk (`durable=True`), so a disk that keeps its word loses none; the
index promises only what was flushed, at the latest `flush_interval_s` ago. Here the ends of both logs are torn off as
if the disk had not kept its word. Predicted: the latest writes may be taken back ("lost" counts their rows), each
whole; nothing fails to open; and comparing the index with the record, as verification does, makes them equal again.
What this cannot show: pages of the index's data files that the system had not written when the power went.

    python -m benchmarks.durability [--sequences 500] [--seed 1] [--home DIR]

After each kill the files are opened again and compared with a record in memory that saw the acknowledged writes; then
what was not acknowledged is written again, as a client would, and compared with a run that nobody disturbed. The last
line is JSON.
"""

import argparse
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from testing.durability.plans import Death, Plan, Verdict
from testing.durability.strategies import plans
from testing.durability.zygote import Zygote

_SHARES = {Death.ALL: 0.5, Death.INDEX: 0.2, Death.POWER: 0.2, Death.BIRTH: 0.1}
_SUMMED = ("acknowledged", "refused", "kept", "lost", "doubled", "torn", "points_lost", "points_wrong")
_JUDGED = ("errors", "unsound")


def main() -> None:
    """Runs the sequences and prints two tables and one JSON line."""
    arguments = _arguments()
    console = Console()
    outcomes: list[tuple[Plan, Verdict]] = []
    begin = time.monotonic()
    with Zygote(arguments.home) as zygote, Progress(console=console) as progress:
        task = progress.add_task("killing", total=arguments.sequences)

        def run(plan: Plan) -> None:
            verdict = zygote.run(plan)
            outcomes.append((plan, verdict))
            if not verdict.is_sound(plan.death):
                console.print(f"{plan}\n{replace(verdict, error='')}\n{verdict.error}", markup=False, highlight=False)
            progress.update(task, completed=len(outcomes))

        for death, share in _SHARES.items():
            _draw(death, round(share * arguments.sequences), arguments.seed, run)
    result = _summary(outcomes) | {"seed": arguments.seed, "took_s": round(time.monotonic() - begin, 1)}
    _show(console, result)
    print(json.dumps(result))


def _draw(death: Death, count: int, number: int, run: Callable[[Plan], None]) -> None:
    """Draws plans and runs each."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(plan=plans(death))
    def drawn(plan: Plan) -> None:
        run(plan)

    drawn()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="kill -9 at random points of random write sequences.")
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--home", type=Path, help="where stores are created and removed; default: in memory")
    return parser.parse_args()


def _summary(outcomes: list[tuple[Plan, Verdict]]) -> dict[str, Any]:
    by_death: dict[str, Counter[str]] = defaultdict(Counter)
    killed_in: dict[str, Counter[str]] = defaultdict(Counter)
    for plan, verdict in outcomes:
        row = by_death[plan.death.value]
        row.update({name: getattr(verdict, name) for name in _SUMMED})
        row.update({"sequences": 1, "errors": bool(verdict.error), "unsound": not verdict.is_sound(plan.death)})
        killed_in[plan.death.value].update(op.value for op in verdict.in_flight or ())
        if not verdict.in_flight:
            killed_in[plan.death.value]["nothing"] += 1
    return {
        "benchmark": "durability",
        "sequences": len(outcomes),
        "unsound": sum(row["unsound"] for row in by_death.values()),
        "outcomes": {death: dict(row) for death, row in by_death.items()},
        "killed_in": {death: dict(row) for death, row in killed_in.items()},
    }


def _show(console: Console, result: dict[str, Any]) -> None:
    _table(console, "What died, and what was wrong afterwards", result["outcomes"], ("sequences", *_SUMMED, *_JUDGED))
    operations = sorted({op for row in result["killed_in"].values() for op in row})
    _table(console, "Writes in flight when it died", result["killed_in"], operations)


def _table(console: Console, title: str, columns: Mapping[str, Mapping[str, int]], rows: Sequence[str]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for name in rows:
        table.add_row(name.replace("_", " "), *(str(column.get(name, 0)) for column in columns.values()))
    console.print(table)


if __name__ == "__main__":
    main()
