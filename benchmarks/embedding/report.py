"""The tables, the plot and the JSON line of a run."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.embedding.medians import best_peer_server, closed_medians, open_medians
from benchmarks.embedding.peers import PEERS
from benchmarks.embedding.workloads import WORKLOADS
from benchmarks.load.samples import percentile

Figures = dict[str, Any]


def summarise(
    results: Sequence[Figures], lengths: Mapping[str, Sequence[int]], memory_mib: Mapping[str, float]
) -> Figures:
    """The figures of a run for the JSON line."""
    return {
        "tokens": {name: _length_figures(counts) for name, counts in lengths.items()},
        "best_peer_server": best_peer_server(results),
        "closed": closed_medians(results),
        "open": open_medians(results),
        "lowest_cosine": {result["name"]: result["cosine"] for result in results if result["what"] == "check"},
        "memory_mib": dict(memory_mib),
    }


def show(console: Console, summary: Figures) -> None:
    """Draws one table for capacity and one for latency by load."""
    for name, workload in WORKLOADS.items():
        lengths = summary["tokens"][name]
        tokens = f"{lengths['median']} tokens (mean {lengths['mean']}, 95%: {lengths['p95']}, most {lengths['most']})"
        table = Table(title=f"{name}: {workload.about}; {tokens}", title_justify="left")
        for column in (
            "",
            "texts/s",
            "of in-process",
            "of best peer",
            "p50 ms",
            "p95 ms",
            "failed",
            "client",
            "server",
        ):
            table.add_column(column, justify="right" if column else "left")
        for peer, by_workload in summary["closed"].items():
            if figures := by_workload.get(name):
                keys = ("texts_per_s", "over_baseline", "over_best_peer", "p50_ms", "p95_ms", "failed")
                table.add_row(peer, *_cells(figures, (*keys, "client_cpu", "server_cpu")))
        console.print(table)
    table = Table(title="open loop: Poisson arrivals, latency from the intended send time", title_justify="left")
    columns = ("load", "rate", "completed_per_s", "p50_ms", "p95_ms", "p99_ms", "lag_p95_ms", "failed", "refused")
    for column in (
        "",
        "load",
        "rate/s",
        "done/s",
        "p50 ms",
        "p95",
        "p99",
        "lag p95",
        "failed",
        "429",
        "client",
        "server",
    ):
        table.add_column(column, justify="right" if column else "left")
    for figures in summary["open"]:
        table.add_row(figures["name"], *_cells(figures, (*columns, "client_cpu", "server_cpu")))
    console.print(table)
    agreement = ", ".join(f"{name} {cosine:.4f}" for name, cosine in summary["lowest_cosine"].items())
    console.print(f"lowest cosine to fp32 sentence-transformers: {agreement}")
    console.print(f"client and server: CPU cores busy. Best peer server: {summary['best_peer_server'] or 'none'}")


def plot(summary: Figures, path: Path) -> None:
    """Latency over load: the median solid, the 95th percentile dashed; one colour a contestant."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5.5))
    for place, name in enumerate(PEERS):
        points = sorted(
            (line["rate"], line["p50_ms"], line["p95_ms"]) for line in summary["open"] if line["name"] == name
        )
        if points:
            rates, medians, tails = zip(*points, strict=True)
            axes.plot(rates, tails, "o--", color=f"C{place}", label=f"{name}, 95%")
            axes.plot(rates, medians, "o-", color=f"C{place}", label=f"{name}, median")
    axes.set(xlabel="requests a second, Poisson, one text each", ylabel="latency from the intended send time, ms")
    axes.set_yscale("log")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend(fontsize="small")
    axes.set_title("Embedding servers side by side: latency by load")
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def _length_figures(counts: Sequence[int]) -> Figures:
    ordered = sorted(counts)
    return {
        "median": percentile(ordered, 50),
        "mean": round(statistics.mean(ordered), 1),
        "p95": percentile(ordered, 95),
        "most": ordered[-1],
    }


def _cells(figures: Figures, keys: Sequence[str]) -> list[str]:
    """What is not known of a contestant (its ratio to itself, the CPU of no server) stays empty."""
    return [str(figures.get(key, "")) for key in keys]
