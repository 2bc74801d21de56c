"""The picture of the benchmark: right replies by type for each system, and the risk of answering over coverage."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from .figures import RISK, Judged, risk_curve
from .judge import Verdict
from .scenarios import Kind


def draw(judged: Mapping[str, Sequence[Judged]], out: Path) -> None:
    """Draws bars by type and the curves of those systems whose replies have a confidence, and writes a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    asked = {row.question.kind for rows in judged.values() for row in rows}
    kinds = [kind for kind in Kind if kind in asked]
    figure, (bars, curves) = pyplot.subplots(1, 2, figsize=(12, 4.5), layout="constrained", width_ratios=(2, 1))
    width = 0.8 / len(judged)
    for place, (system, rows) in enumerate(judged.items()):
        shares = []
        for kind in kinds:
            verdicts = [row.verdict for row in rows if row.question.kind is kind]
            shares.append(100 * verdicts.count(Verdict.RIGHT) / len(verdicts) if verdicts else 0.0)
        at = [number + (place - (len(judged) - 1) / 2) * width for number in range(len(kinds))]
        colour = f"C{place}"
        bars.bar(at, shares, width, label=system, color=colour)
        if curve := risk_curve(rows):
            label = f"{system}, area {curve.area:.2f}"
            curves.step([0.0, *curve.coverage], [curve.risk[0], *curve.risk], color=colour, label=label)
    bars.set_xticks(range(len(kinds)), [kind.replace("_", " ") for kind in kinds], rotation=40, ha="right")
    bars.set(title="right replies by type, %", ylim=(0, 100))
    curves.axhline(RISK, color="grey", linewidth=0.8, linestyle=":")
    curves.set(title="risk of the replies that are given", xlabel="share of the questions answered", ylim=(0, 1))
    for axis in (bars, curves):
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize="small")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    pyplot.close(figure)
