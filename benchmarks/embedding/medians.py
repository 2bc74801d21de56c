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
                figures = {"texts_per_s": median(result["texts_per_s"] for result in mine), **_medians(mine)}
                figures |= {"failed": failed(mine)}
                for label, other in (("over_baseline", BASELINE), ("over_best_peer", best)):
                    theirs = {result["round"]: result["texts_per_s"] for result in _of(closed, other, workload)}
                    ratios = [
                        result["texts_per_s"] / theirs[result["round"]] for result in mine if result["round"] in theirs
                    ]
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
            "rate": median(result["rate"] for result in group),
            "offered_per_s": median(result["offered_per_s"] for result in group),
            **_medians(group),
            "failed": failed(group),
            "refused": sum(result["statuses"].get("429", 0) for result in group),
            "rounds": len(group),
        }
        for (name, workload, share), group in groups.items()
    ]


def best_peer_server(results: Sequence[Figures]) -> str:
    """The peer server (not ours, not the baseline) with the most texts a second; empty where none was measured."""
    speeds = {
        name: median(result["texts_per_s"] for result in mine)
        for name, peer in PEERS.items()
        if peer.server and (mine := _of([result for result in results if result["what"] == "closed"], name, "mixed"))
    }
    return max(speeds, key=lambda name: speeds[name], default="")


def median(values: Iterable[float]) -> float:
    """The median, rounded to what is worth reading."""
    return round(float(statistics.median(values)), 3)


def failed(results: Sequence[Figures]) -> int:
    """Requests that were not answered with what they asked for, refused ones included."""
    return sum(
        count for result in results for status, count in result["statuses"].items() if not str(status).startswith("2")
    )


def _of(closed: Sequence[Figures], name: str, workload: str) -> list[Figures]:
    return [result for result in closed if (result["name"], result["workload"]) == (name, workload)]


def _medians(group: Sequence[Figures]) -> Figures:
    return {key: median(result[key] for result in group) for key in _KEPT if all(key in result for result in group)}
