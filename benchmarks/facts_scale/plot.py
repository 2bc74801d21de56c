"""The picture of `benchmarks.facts_scale`: four charts over the number of messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .__main__ import Figures

_COLOURS = {"one": "tab:blue", "many": "tab:orange"}
_LABELS = {"one": "one user", "many": "a thousand users"}
_STYLES = ("-", "--", ":")


def draw(rows: Sequence["Figures"], out: Path) -> None:
    """Draws rates, latencies, durations of the jobs and bytes on disk, and writes a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    (rates, latency), (jobs, disk) = axes
    for shape in dict.fromkeys(row.shape for row in rows):
        of_shape = [row for row in rows if row.shape == shape]
        sizes, colour = [row.messages for row in of_shape], _COLOURS[shape]
        charts = (
            (rates, {"learned": "learn_per_s", "indexed": "index_per_s"}),
            (disk, {"record": "record_bytes", "vectors": "vectors_bytes"}),
        )
        for axis, lines in charts:
            for style, (name, attribute) in zip(_STYLES, lines.items(), strict=False):
                values = [getattr(row, attribute) / (2**20 if axis is disk else 1) for row in of_shape]
                axis.plot(sizes, values, style, color=colour, marker="o", label=f"{name}, {_LABELS[shape]}")
        for style, attribute in zip(_STYLES, ("context_ms", "retrieve_ms"), strict=False):
            p95 = [getattr(row, attribute)[1] for row in of_shape]
            name = f"/{attribute.removesuffix('_ms')}, {_LABELS[shape]}"
            latency.plot(sizes, p95, style, color=colour, marker="o", label=name)
        for style, kind in zip(_STYLES, of_shape[0].jobs_s, strict=True):
            seconds = [row.jobs_s[kind] for row in of_shape]
            jobs.plot(sizes, seconds, style, color=colour, marker="o", label=f"{kind}, {_LABELS[shape]}")
    titles = {rates: "a second, without the models", latency: "p95, ms", jobs: "a job, s", disk: "on disk, MiB"}
    for axis, title in titles.items():
        axis.set_xscale("log")
        axis.set_title(title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="x-small")
    jobs.set_yscale("log")
    disk.set_yscale("log")
    for axis in (rates, latency):
        axis.set_ylim(bottom=0)
    for axis in (jobs, disk):
        axis.set_xlabel("messages")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    pyplot.close(figure)
