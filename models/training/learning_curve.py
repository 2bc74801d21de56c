"""Draws a run's log: losses and tuning scores by step."""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Curve:
    """What is drawn.

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
        from matplotlib.figure import Figure  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return False
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    figure = Figure(figsize=(10, 4), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    trained = [entry for entry in entries if curve.losses[0] in entry]
    for name in curve.losses:
        losses.plot([entry["step"] for entry in trained], [entry[name] for entry in trained], label=name)
    losses.set(xlabel="step", ylabel="loss of a row", yscale="log")
    losses.legend()
    tuned = [entry for entry in entries if "tune" in entry]
    for name in tuned[-1]["tune"] if tuned else ():
        points = [(entry["step"], entry["tune"][name][curve.measure]) for entry in tuned if name in entry["tune"]]
        scores.plot(*zip(*points, strict=True), marker="o", label=name)
    scores.set(xlabel="step", ylabel=f"{curve.label} on tuning rows, %")
    if tuned:
        scores.legend()
    figure.savefig(image, dpi=120)
    return True
