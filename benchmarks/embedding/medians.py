"""From single measurements to one figure each: medians over rounds, and ratios within each round."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.embedding.peers import BASELINE, PEERS
from benchmarks.embedding.workloads import WORKLOADS

Figures = dict[str, Any]
_KEPT = ("completed_per_s", "p50_ms", "p95_ms", "p99_ms", "lag_p95_ms", "client_cpu", "server_cpu")


def closed_medians(results: Sequence[Figures]) -> dict[str, dict[str, Figures]]:
    """By contestant and workload: texts a second and latencies, and the texts a second over those of the baseline and
    of the best peer server, each the median over rounds of the ratio within a round.
    """
    closed = [result for result in results if result["what"] == "closed"]
    best = best_peer_server(results)
    found: dict[str, dict[str, Figures]] = {}
    for name in PEERS:
        for workload in WORKLOADS:
            mine = _of(closed, name, workload)
            if mine:
                figures = {"texts_per_s": median(one["texts_per_s"] for one in mine), **_medians(mine)}
                figures |= {"failed": failed(mine)}
                for label, other in (("over_baseline", BASELINE), ("over_best_peer", best)):
                    theirs = {one["round"]: one["texts_per_s"] for one in _of(closed, other, workload)}
                    ratios = [one["texts_per_s"] / theirs[one["round"]] for one in mine if one["round"] in theirs]
                    if ratios:
                        figures[label] = median(ratios)
                found.setdefault(name, {})[workload] = figures
    return found


def open_medians(results: Sequence[Figures]) -> list[Figures]:
    """One line for each contestant and load, in the order of the loads; `share` of its own capacity, or `equal`."""
    groups: dict[tuple[str, str, float], list[Figures]] = {}
    for result in results:
        if result["what"] == "open":
            groups.setdefault((result["name"], result["workload"], result.get("share", 0.0)), []).append(result)
    return [
        {
            "name": name,
            "workload": workload,
            "load": f"{share:.0%}" if share else "equal",
            "rate": median(one["rate"] for one in group),
            "offered_per_s": median(one["offered_per_s"] for one in group),
            **_medians(group),
            "failed": failed(group),
            "refused": sum(one["statuses"].get("429", 0) for one in group),
            "rounds": len(group),
        }
        for (name, workload, share), group in groups.items()
    ]


def best_peer_server(results: Sequence[Figures]) -> str:
    """The peer server (not ours, not the baseline) with the most texts a second; empty where none was measured."""
    speeds = {
        name: median(one["texts_per_s"] for one in mine)
        for name, peer in PEERS.items()
        if peer.server and (mine := _of([one for one in results if one["what"] == "closed"], name, "mixed"))
    }
    return max(speeds, key=lambda name: speeds[name], default="")


def median(values: Iterable[float]) -> float:
    """The median, rounded to what is worth reading."""
    return round(float(statistics.median(values)), 3)


def failed(results: Sequence[Figures]) -> int:
    """Requests that were not answered with what they asked for, refused ones included."""
    return sum(count for one in results for status, count in one["statuses"].items() if not str(status).startswith("2"))


def _of(closed: Sequence[Figures], name: str, workload: str) -> list[Figures]:
    return [one for one in closed if (one["name"], one["workload"]) == (name, workload)]


def _medians(group: Sequence[Figures]) -> Figures:
    return {key: median(one[key] for one in group) for key in _KEPT if all(key in one for one in group)}
