"""What a soak found: figures, tables, and one picture over time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.load.samples import Run, percentile
from benchmarks.soak.kills import DOOR, Kill, Killer
from benchmarks.soak.traffic import Refusal, Traffic

_DOOR_S = 20.0
"""Seconds for which connections may fail after a process between client and ingress was killed."""
_MINUTE_S = 60.0
_PEAK_SHARE = 0.1
Figures = dict[str, Any]


@dataclass(frozen=True)
class Explained:
    """A refusal with the kill before it.

    Attributes:
        explanation: Why it is as documented; empty where nothing explains it.
    """

    refusal: Refusal
    victim: str
    since_kill_s: float
    explanation: str


def explained(refusal: Refusal, kills: Sequence[Kill]) -> Explained:
    """Says which kill a refusal followed, and whether the documentation promises such a reply."""
    before = [kill for kill in kills if kill.at_s <= refusal.at_s]
    last = before[-1] if before else None
    since_s = refusal.at_s - last.at_s if last else float("inf")
    has_reply = refusal.status.isdigit()
    explanation = ""
    if refusal.is_announced:
        explanation = "refused, with Retry-After"
    elif last and last.victim in DOOR and since_s < max(_DOOR_S, last.recovery_s or _DOOR_S):
        if not has_reply:
            explanation = "connection lost with the killed process"
        elif refusal.status in ("502", "503"):
            explanation = "no ingress yet"
    return Explained(refusal, last.victim if last else "", since_s, explanation)


def summarise(run: Run, traffic: Traffic, killer: Killer, kept: Mapping[str, int]) -> Figures:
    """The figures of a soak, for the table and the JSON line."""
    reasons = [explained(refusal, killer.kills) for refusal in traffic.refusals]
    unexplained = [reason for reason in reasons if not reason.explanation]
    summary = run.summary()
    return {
        "requests": summary.requests,
        "offered_per_s": summary.offered_per_s,
        "statuses": summary.statuses,
        "p50_ms": summary.p50_ms,
        "p95_ms": summary.p95_ms,
        **kept,
        "degraded": len(traffic.degraded),
        "degraded_parts": dict(Counter(part for _, parts in traffic.degraded for part in parts)),
        "degraded_without_kill": sum(
            not any(0 <= at_s - kill.at_s < _MINUTE_S for kill in killer.kills) for at_s, _ in traffic.degraded
        ),
        "attempts_refused": dict(Counter(reason.explanation or "unexplained" for reason in reasons)),
        "unexplained": [_shown(reason) for reason in unexplained],
        "kills": [asdict(kill) for kill in killer.kills],
        "recovery_s": _recoveries(killer.kills),
        "memory_mib": _memory(killer.memory_mib),
        "by_minute": minutes(run),
    }


def minutes(run: Run) -> list[Figures]:
    """Rate and latency percentiles of the answered requests of each minute, by when they were due."""
    rows = []
    for number in range(int(run.seconds // _MINUTE_S) + 1):
        due = [sample for sample in run.samples if number * _MINUTE_S <= sample.due_s < (number + 1) * _MINUTE_S]
        latencies = sorted(sample.latency_s * 1e3 for sample in due if sample.is_ok)
        if latencies:
            rows.append(
                {
                    "minute": number,
                    "requests": len(due),
                    "failed": len(due) - len(latencies),
                    "p50_ms": round(percentile(latencies, 50), 1),
                    "p95_ms": round(percentile(latencies, 95), 1),
                }
            )
    return rows


def _recoveries(kills: Sequence[Kill]) -> Figures:
    by_victim: dict[str, list[float]] = {}
    for kill in kills:
        if kill.recovery_s is not None:
            by_victim.setdefault(kill.victim, []).append(kill.recovery_s)
    return {
        victim: {"median": round(median(found), 1), "max": round(max(found), 1), "kills": len(found)}
        for victim, found in by_victim.items()
    }


def _memory(readings: Sequence[tuple[float, Mapping[str, float]]]) -> Figures:
    """Medians of the first and the last tenth of the soak, and the highest total."""
    if not readings:
        return {}
    totals = [sum(by_name.values()) for _, by_name in readings]
    tenth = max(1, round(len(readings) * _PEAK_SHARE))
    names = sorted({name for _, by_name in readings for name in by_name})

    def middle(name: str, part: Sequence[tuple[float, Mapping[str, float]]]) -> float:
        return round(median(by_name.get(name, 0.0) for _, by_name in part), 1)

    return {
        "first": round(median(totals[:tenth]), 1),
        "last": round(median(totals[-tenth:]), 1),
        "highest": round(max(totals), 1),
        "by_process": {name: [middle(name, readings[:tenth]), middle(name, readings[-tenth:])] for name in names},
    }


def _shown(reason: Explained) -> Figures:
    since_s = round(reason.since_kill_s, 1) if reason.victim else None
    return {**asdict(reason.refusal), "after": reason.victim, "since_kill_s": since_s}


def show(console: Console, figures: Figures) -> None:
    """Draws the kills, the refusals that nothing explains, and the totals."""
    kills = Table(title="kills", title_justify="left")
    for column in ("process", "kills", "whole again, median s", "longest s"):
        kills.add_column(column)
    for victim, row in figures["recovery_s"].items():
        kills.add_row(victim, *(str(row[key]) for key in ("kills", "median", "max")))
    console.print(kills)
    for reason in figures["unexplained"]:
        console.print(f"unexplained: {reason}", markup=False, soft_wrap=True)
    left_out = ("kills", "by_minute", "unexplained", "recovery_s", "memory_mib")
    for name, value in figures.items():
        if name not in left_out:
            console.print(f"{name}: {value}", markup=False, soft_wrap=True)
    memory = {name: value for name, value in figures["memory_mib"].items() if name != "by_process"}
    console.print(f"memory, MiB: {memory}")


def plot(run: Run, traffic: Traffic, killer: Killer, path: Path) -> None:
    """Load, latency, errors and memory over the minutes, with a line for each kill; PNG or SVG by the name."""
    import matplotlib as mpl

    mpl.use("Agg")  # files only: a server has no display
    from matplotlib import pyplot

    figure, (load, latency, errors, memory) = pyplot.subplots(4, 1, sharex=True, figsize=(10, 10), layout="constrained")
    rows = minutes(run)
    middle = [row["minute"] + 0.5 for row in rows]
    load.bar(middle, [row["requests"] / _MINUTE_S for row in rows], width=0.9, color="tab:blue", alpha=0.6)
    load.set_ylabel("requests a second")
    latency.plot(middle, [row["p95_ms"] for row in rows], "o-", markersize=3, label="p95")
    latency.plot(middle, [row["p50_ms"] for row in rows], "o-", markersize=3, label="p50")
    latency.set(ylabel="latency, ms", yscale="log")
    latency.legend(loc="upper right", fontsize="small")
    reasons = [explained(refusal, killer.kills) for refusal in traffic.refusals]
    kinds = {
        "refused or connection lost, explained": [r.refusal.at_s for r in reasons if r.explanation],
        "unexplained": [r.refusal.at_s for r in reasons if not r.explanation],
        "degraded": [at_s for at_s, _ in traffic.degraded],
    }
    bins = [number / 6 for number in range(int(run.seconds / 10) + 13)]
    for (label, times), color in zip(kinds.items(), ("tab:orange", "tab:red", "tab:olive"), strict=True):
        errors.hist([at_s / 60 for at_s in times], bins=bins, label=f"{label}: {len(times)}", color=color, alpha=0.7)
    errors.set_ylabel("attempts in 10 s")
    errors.legend(loc="upper right", fontsize="small")
    at = [at_s / 60 for at_s, _ in killer.memory_mib]
    totals: Counter[str] = Counter()
    for _, by_name in killer.memory_mib:
        totals.update(by_name)
    largest = [name for name, _ in totals.most_common(6)]
    series = [[by_name.get(name, 0.0) for _, by_name in killer.memory_mib] for name in largest]
    series.append([sum(v for n, v in by_name.items() if n not in largest) for _, by_name in killer.memory_mib])
    memory.stackplot(at, series, labels=[*largest, "others"], alpha=0.8)
    memory.set(ylabel="memory, MiB\n(shared pages once)", xlabel="minutes")
    memory.legend(loc="lower left", fontsize="x-small", ncols=4)
    for kill in killer.kills:
        load.annotate(kill.victim, (kill.at_s / 60, 1.0), xycoords=("data", "axes fraction"), rotation=60, fontsize=6)
        for axes in (load, latency, errors, memory):
            axes.axvline(kill.at_s / 60, color="0.4", linewidth=0.6, linestyle=":")
    for axes in (load, latency, errors, memory):
        axes.grid(visible=True, alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
