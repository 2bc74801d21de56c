"""The report of the peer benchmark, from measurements as they are kept."""

from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.embedding.peers import PEERS
from benchmarks.embedding.report import plot, show, summarise
from benchmarks.embedding.workloads import WORKLOADS


def _measurements() -> list[dict[str, Any]]:
    figures = {"p50_ms": 10.0, "p95_ms": 20.0, "p99_ms": 30.0, "lag_p95_ms": 1.0, "client_cpu": 0.1, "server_cpu": 1.5}
    made: list[dict[str, Any]] = []
    for place, name in enumerate(PEERS):
        common = {"round": 0, "name": name, "statuses": {"200": 10}, **figures}
        made.append({"round": 0, "name": name, "what": "check", "cosine": 1.0 - place / 1000})
        for workload in WORKLOADS:
            speeds = {"texts_per_s": 40.0 + place, "completed_per_s": 40.0 + place}
            made.append(common | speeds | {"what": "closed", "workload": workload})
        for share in (0.5, 0.9):
            load = {"share": share, "rate": share * 40, "offered_per_s": share * 40, "completed_per_s": share * 40}
            made.append(common | load | {"what": "open", "workload": "mixed"})
    return made


def test_every_contestant_and_its_ratios_are_in_the_tables_and_the_plot(tmp_path: Path) -> None:
    lengths = {name: [8, 9, 40] for name in WORKLOADS}
    summary = summarise(_measurements(), lengths, {"ours-http": 2900.0})
    console = Console(width=160, record=True, file=(tmp_path / "tables.txt").open("w", encoding="utf-8"))
    show(console, summary)
    console.file.close()
    text = console.export_text()
    assert all(name in text for name in PEERS)
    assert summary["best_peer_server"] == "infinity"
    assert summary["tokens"]["mixed"]["median"] == 9
    plot(summary, tmp_path / "latency.png")
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
