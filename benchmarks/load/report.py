"""The table and the two plots of a load run."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.load.samples import TIMEOUT
from benchmarks.load.stages import CLOSED, Stage

Figures = dict[str, Any]
_WIDTH = 140
_KEYS = (
    "offered_per_s",
    "completed_per_s",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "lag_p95_ms",
    "failed",
    "refused",
    "degraded",
    "client_cpu",
    "sustained_per_s",
)


def wide_console() -> Console:
    """Standard output; wide enough for every column where it goes to a file."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH)


def show(console: Console, report: Figures) -> None:
    """Draws the stages, and below them each sort of request at the highest open load."""
    table = Table(title=f"{report['scenario']}: {report['about']}", title_justify="left")
    for column in (
        "stage",
        "offered/s",
        "done/s",
        "p50 ms",
        "p95",
        "p99",
        "lag p95",
        "failed",
        "refused",
        "degraded",
        "client",
        "sustained/s",
    ):
        table.add_column(column, justify="right" if column != "stage" else "left")
    for figures in report["stages"]:
        unanswered = sum(count for status, count in figures["statuses"].items() if not status.startswith("2"))
        failed = unanswered - figures["refused"]
        table.add_row(figures["label"], *(str(({**figures, "failed": failed})[key]) for key in _KEYS))
    console.print(table)
    last = report["stages"][-1]
    sorts = Table(title=f"by sort, at {last['label']}", title_justify="left")
    for column in ("", "requests", "p50 ms", "p95 ms", "p99 ms", "statuses"):
        sorts.add_column(column, justify="right" if column else "left")
    for name, figures in last["by_name"].items():
        sorts.add_row(name, *(str(figures[key]) for key in ("requests", "p50_ms", "p95_ms", "p99_ms", "statuses")))
    console.print(sorts)


def plot_by_load(report: Figures, path: Path) -> None:
    """Latency percentiles over offered load; the closed loop's capacity as a line."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 5))
    open_stages = [figures for figures in report["stages"] if figures["label"] != CLOSED]
    rates = [figures["offered_per_s"] for figures in open_stages]
    for key, label in (("p50_ms", "median"), ("p90_ms", "90%"), ("p95_ms", "95%"), ("p99_ms", "99%")):
        axes.plot(rates, [figures[key] for figures in open_stages], "o-", label=label)
    for figures in report["stages"]:
        if figures["label"] == CLOSED:
            axes.axvline(figures["sustained_per_s"], color="grey", linestyle=":", label="capacity, sustained")
    axes.set(xlabel="requests a second, Poisson", ylabel="latency from the intended send time, ms", yscale="log")
    axes.set_title(f"{report['scenario']}: latency by load")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def plot_timeline(stages: Sequence[Stage], path: Path) -> None:
    """Every request of every stage: when it was due and how long it took; a cross where it failed."""
    pyplot = _pyplot()
    figure, rows = pyplot.subplots(len(stages), 1, figsize=(9, 2.2 * len(stages)), squeeze=False)
    for axes, stage in zip(rows[:, 0], stages, strict=True):
        for place, name in enumerate(sorted({request.name for request in stage.requests})):
            samples = [sample for sample in stage.run.samples if stage.requests[sample.index].name == name]
            answered = [sample for sample in samples if sample.is_ok]
            failed = [sample for sample in samples if not sample.is_ok]
            times = [sample.due_s for sample in answered]
            axes.scatter(times, [sample.latency_s * 1e3 for sample in answered], s=8, color=f"C{place}", label=name)
            axes.scatter(
                [sample.due_s for sample in failed],
                [sample.latency_s * 1e3 for sample in failed],
                marker="x",
                color="red",
            )
        given_up = sum(sample.status == TIMEOUT for sample in stage.run.samples)
        title = stage.label if stage.label == CLOSED else f"{stage.label} of capacity, Poisson"
        axes.set(ylabel="ms", yscale="log", title=title + (f", {given_up} given up" if given_up else ""))
        axes.grid(visible=True, alpha=0.3)
    rows[-1, 0].set_xlabel("due at, s")
    rows[0, 0].legend(fontsize="x-small", ncols=4)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")  # files only: a server has no display
    from matplotlib import pyplot

    return pyplot
