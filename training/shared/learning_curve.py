"""Draws a run's log: losses and tuning scores by step."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve of the picture.

    Attributes:
        losses: Names of losses in the log.
        measure: The tuning score.
        label: What it is called on the axis.
    """

    losses: tuple[str, ...]
    measure: str
    label: str


def draw_curve(log: Path, image: Path, curve: Curve) -> bool:
    """Draws `log.jsonl` into a PNG.

    Returns:
        Whether it was drawn; not where matplotlib (a dev extra) is missing.
    """
    try:
        from matplotlib import colormaps  # type: ignore[import-not-found,unused-ignore]
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return False
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    figure = Figure(figsize=(11, 4), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    trained = by_step(entry for entry in entries if curve.losses[0] in entry)
    for name in curve.losses:
        losses.plot([entry["step"] for entry in trained], [entry[name] for entry in trained], label=name)
    losses.set(xlabel="step", ylabel="loss of a row", yscale="log")
    losses.legend()
    tuned = by_step(entry for entry in entries if "tune" in entry)
    scores.set_prop_cycle(color=colormaps["tab20"](range(20)))
    for name in tuned[-1]["tune"] if tuned else ():
        points = [(entry["step"], entry["tune"][name][curve.measure]) for entry in tuned if name in entry["tune"]]
        scores.plot(*zip(*points, strict=True), marker="o", label=name)
    scores.set(xlabel="step", ylabel=f"{curve.label} on tuning rows, %")
    if tuned:
        scores.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="x-small")
    figure.savefig(image, dpi=120)
    return True


def by_step(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries of a log in order; of a step that a resumed run repeated, the later one."""
    latest = {entry["step"]: entry for entry in entries}
    return [latest[step] for step in sorted(latest)]
