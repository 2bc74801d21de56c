"""The stores as they grow: writing, hybrid search, graph, memory, disk, start (DESIGN §7, STORES).

Theory. A user's search reads that user's share n of the N entities and nothing else: a fixed part (a hop to the
store's thread, the tenant filter) and about 0.2 µs a point, which is what reading 384 x 4 bytes from memory takes at
8 GB/s. STORES measured 0.31 ms at n = 500 and 2.2 ms at n = 10,000. With 1,000 users n goes from 10 to 1,000, so one
dense search is predicted to go from 0.2 to 0.4 ms, and hybrid search with hydration (two index lookups in SQLite,
which are logarithmic, and 30 to 60 rows) to grow by less than 2. At N = 10,000 a user has 10 entities, fewer than the
30 candidates of a leg, so hydration reads fewer rows there: part of the growth is this. A walk of 1, 2, 3 hops with 10
relations at each entity meets 10, 100 and, but for the limit of 100, 1,000 others; among 10 entities it meets 9. So
walks grow from N = 10,000 to 100,000 and not from there. Inserts become slower with N where ids are random and land
all over the B-trees: predicted 2x from 10,000 to 1,000,000.

    python -m benchmarks.stores --home DIR [--sizes 10000,100000,1000000] [--users 1000] [--heavy 10000] [--keep]
        [--backend embedded|servers]

With `--backend servers` the same on Qdrant and ArangoDB, where `JIYI_TEST_QDRANT_URL` and `JIYI_TEST_ARANGO_URL` name
servers that may be written to; their memory and disk are their own matter.

Each size is built in its own folder below DIR; an interrupted build continues, and what is kept is measured again
without building. Memory and latencies are those of fresh processes. The last line is JSON.
"""

import argparse
import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from benchmarks.common.workload import seconds
from benchmarks.stores.backends import Backend, disk_bytes
from benchmarks.stores.building import Figures, build
from benchmarks.stores.workload import BATCH, DIMENSION, HEAVY, RELATIONS_EACH, Workload

_PARTS = ("index", "record", "hybrid")
_GROWTHS = ("hybrid_ms", "search_ms", "dense_ms", "sparse_ms", "found_in_ms", "hops_1_ms", "hops_2_ms", "hops_3_ms")
_MIB = 2**20


def main() -> None:
    """Builds, measures, and prints a table and one JSON line."""
    arguments = _arguments()
    console = Console()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    gigabytes_per_s = _memory_bandwidth()
    measured: dict[int, dict[str, Any]] = {}
    for size in sizes:
        home = arguments.home / f"{arguments.backend}-{size}-{arguments.users}-{arguments.heavy}"
        home.mkdir(parents=True, exist_ok=True)
        workload = Workload(entities=size, users=arguments.users, heavy=arguments.heavy)
        figures = Figures(home / "figures.json")
        asyncio.run(_build(console, arguments.backend, home, workload, figures))
        result = _written(figures, workload, home)
        for part in _PARTS:
            with console.status(f"{size:,}: measuring {part}"):
                result |= {
                    key if key not in result else f"{part}_{key}": value
                    for key, value in _probe(arguments, part, home, size).items()
                }
        result["ceiling_scan_ms"] = round(workload.share * DIMENSION * 4 / gigabytes_per_s / 1e6, 4)
        result["ceiling_heavy_scan_ms"] = round(workload.heavy * DIMENSION * 4 / gigabytes_per_s / 1e6, 4)
        measured[size] = result
        if not arguments.keep:
            shutil.rmtree(home)
        console.print_json(json.dumps({str(size): result}))
    growth = {name: round(measured[sizes[-1]][name]["p95"] / measured[sizes[0]][name]["p95"], 2) for name in _GROWTHS}
    _show(console, measured, growth)
    report = {
        "benchmark": "stores",
        "backend": arguments.backend,
        "users": arguments.users,
        "heavy": arguments.heavy,
        "queries": arguments.queries,
        "batch": BATCH,
        "relations_each": RELATIONS_EACH,
        "memory_gb_per_s": round(gigabytes_per_s, 1),
        "growth_p95": growth,
        "sizes": measured,
    }
    print(json.dumps(report))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The stores as they grow.")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="entities, without the heavy user's")
    parser.add_argument("--users", type=int, default=1000)
    parser.add_argument("--heavy", type=int, default=10_000, help="entities of one more user")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--home", type=Path, required=True, help="where stores are built")
    parser.add_argument("--backend", choices=[backend.value for backend in Backend], default=Backend.EMBEDDED.value)
    parser.add_argument("--keep", action="store_true", help="leave the stores in place")
    return parser.parse_args()


async def _build(console: Console, backend: str, home: Path, workload: Workload, figures: Figures) -> None:
    total = workload.share * len(workload.users) + workload.heavy
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        tasks = {phase: progress.add_task(f"{total:,} {phase}", total=total) for phase in ("record", "index")}
        await build(
            Backend(backend), home, workload, figures, lambda phase, count: progress.advance(tasks[phase], count)
        )


def _written(figures: Figures, workload: Workload, home: Path) -> dict[str, Any]:
    """Rates of writing, at first, at the end and over all; the rates of the heavy user's rounds are its own."""
    equal = -(-workload.share // BATCH)
    kinds = ("save", "relate", "outbox", "get", "upsert", "acknowledge")
    return {
        "share": workload.share,
        "per_s": {kind: figures.per_second(kind, rounds=slice(0, equal)) for kind in kinds},
        "per_cpu_s": {kind: figures.per_second(kind, rounds=slice(0, equal), cpu=True) for kind in kinds},
        "per_s_first_round": {kind: figures.per_second(kind, rounds=slice(0, 1)) for kind in kinds},
        "per_s_last_round": {kind: figures.per_second(kind, rounds=slice(equal - 1, equal)) for kind in kinds},
        "per_s_heavy": {kind: figures.per_second(kind, rounds=slice(equal, None)) for kind in kinds},
        "counts_full_outbox_s": round(figures.kept["counts_full_outbox_s"], 4),
        "ceiling_raw_rows_per_s": _raw_inserts(home) if (home / "record.sqlite").exists() else 0,
        "record_disk_mib": round(disk_bytes(home / "record.sqlite") / _MIB, 1),
        "index_disk_mib": round(disk_bytes(home / "vectors") / _MIB, 1),
    }


def _probe(arguments: argparse.Namespace, part: str, home: Path, size: int) -> dict[str, Any]:
    job = {
        "part": part,
        "backend": arguments.backend,
        "home": str(home),
        "entities": size,
        "users": arguments.users,
        "heavy": arguments.heavy,
        "queries": arguments.queries,
    }
    command = [sys.executable, "-m", "benchmarks.stores.probe", json.dumps(job)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def _raw_inserts(home: Path, rows: int = 20_000) -> int:
    """Rows a second that SQLite takes of the same bytes, same batches and same settings, with one index and no more."""
    source = sqlite3.connect(home / "record.sqlite")
    bodies = source.execute("SELECT user_id, entity_id, body FROM entities LIMIT ?", (rows,)).fetchall()
    source.close()
    file = home / "raw.sqlite"
    target = sqlite3.connect(file, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"):
        target.execute(statement)
    target.execute("CREATE TABLE rows (user_id TEXT, entity_id TEXT, body TEXT, PRIMARY KEY (user_id, entity_id))")

    def insert() -> None:
        for begin in range(0, len(bodies), BATCH):
            target.execute("BEGIN IMMEDIATE")
            target.executemany("INSERT INTO rows VALUES (?, ?, ?)", bodies[begin : begin + BATCH])
            target.execute("COMMIT")

    taken = seconds(insert)
    target.close()
    for left in home.glob("raw.sqlite*"):
        left.unlink()
    return round(len(bodies) / taken)


def _memory_bandwidth() -> float:
    """Gigabytes a second that one thread reads: what bounds a scan of vectors."""
    data = np.ones(64 * _MIB, dtype=np.float32)
    return float(data.nbytes / min(seconds(data.max) for _ in range(5)) / 1e9)


def _show(console: Console, measured: dict[int, dict[str, Any]], growth: dict[str, float]) -> None:
    table = Table(
        title=f"Stores, p50 / p95 / p50 of processor time in ms where not said otherwise; {HEAVY} beside",
        title_justify="left",
    )
    table.add_column("")
    for size, result in measured.items():
        table.add_column(f"{size:,} ({result['share']} a user)", justify="right")
    table.add_column("p95 grows", justify="right")
    latencies = [
        name for name, value in next(iter(measured.values())).items() if isinstance(value, dict) and "p95" in value
    ]
    for name in latencies:
        cells = [" / ".join(map(str, result[name].values())) for result in measured.values()]
        first, last = next(iter(measured.values())), list(measured.values())[-1]
        table.add_row(name.removesuffix("_ms"), *cells, f"{last[name]['p95'] / first[name]['p95']:.2f}")
    for kind in next(iter(measured.values()))["per_s"]:
        cells = [
            f"{result['per_s'][kind]:,} ({result['per_s_first_round'][kind]:,} → {result['per_s_last_round'][kind]:,};"
            f" {result['per_cpu_s'][kind]:,})"
            for result in measured.values()
        ]
        table.add_row(f"{kind}, items/s (first → last round; a processor second)", *cells, "")
    for name in (
        "ceiling_raw_rows_per_s",
        "ceiling_scan_ms",
        "ceiling_heavy_scan_ms",
        "open_s",
        "first_search_s",
        "record_open_s",
        "first_read_s",
        "counts_s",
        "counts_full_outbox_s",
        "users_s",
        "record_disk_mib",
        "index_disk_mib",
        "memory_used_mib",
        "record_memory_used_mib",
    ):
        table.add_row(name, *(_cell(result[name]) for result in measured.values()), "")
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['own']:g} own + {value['files']:g} of files"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


if __name__ == "__main__":
    main()
