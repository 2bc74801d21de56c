"""The measurements of the scaling benchmark and their summary."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.load.samples import Run
from deployments.host.watch import Snapshot

TEXTS_A_CALL = 64
_EMBEDDER = "Embedder"


@dataclass
class Phase:
    """A part of the timeline; times in seconds since it began.

    Attributes:
        callers: How many flood the service with embeddings meanwhile.
        updates: Whether the service is deployed again with other settings when it begins.
    """

    name: str
    seconds: float
    callers: int = 0
    updates: bool = False
    begin_s: float = 0.0


@dataclass
class Timeline:
    """All that was seen.

    Attributes:
        began: Seconds since the epoch.
        update_s: How long the update took.
    """

    phases: Sequence[Phase]
    began: float = field(default_factory=time.time)
    snapshots: list[Snapshot] = field(default_factory=list)
    chat: Run | None = None
    bulk: dict[str, Run] = field(default_factory=dict)
    update_s: float | None = None

    @property
    def seconds(self) -> float:
        """From the first phase to the end of the last."""
        return sum(phase.seconds for phase in self.phases)


def summary(timeline: Timeline) -> dict[str, Any]:
    """The figures of each phase, and what the issue asks for."""
    assert timeline.chat is not None
    rows = []
    for phase in timeline.phases:
        end_s = phase.begin_s + phase.seconds
        chats = Run(
            [sample for sample in timeline.chat.samples if phase.begin_s <= sample.due_s < end_s], end_s, end_s, 0.0
        ).summary(since_s=phase.begin_s)
        bulk = timeline.bulk.get(phase.name)
        seen = [
            snapshot.replicas
            for snapshot in timeline.snapshots
            if phase.begin_s <= snapshot.time - timeline.began < end_s
        ]
        rows.append(
            {
                "phase": phase.name,
                "chat_p50_ms": chats.p50_ms,
                "chat_p95_ms": chats.p95_ms,
                "chats": chats.requests,
                "chat_failed": chats.failed,
                "chat_statuses": chats.statuses,
                "embeddings_per_s": _embeddings_per_s(bulk) if bulk else 0,
                "bulk_failed": sum(not sample.is_ok for sample in bulk.samples) if bulk else 0,
                "most_embedders_wanted": max(replicas[_EMBEDDER].target for replicas in seen),
                "most_embedders_running": max(replicas[_EMBEDDER].running for replicas in seen),
                "others_that_scaled": sorted(
                    {
                        name
                        for replicas in seen
                        for name, counts in replicas.items()
                        if name != _EMBEDDER and counts.target != 1
                    }
                ),
            }
        )
    by_phase: dict[Any, dict[str, Any]] = {row["phase"]: row for row in rows}
    result: dict[str, Any] = {"benchmark": "scaling", "phases": rows, "update_s": timeline.update_s}
    if {"idle", "flood"} <= by_phase.keys():
        result["chat_p95_flood_over_idle"] = round(
            by_phase["flood"]["chat_p95_ms"] / by_phase["idle"]["chat_p95_ms"], 2
        )
        result["scale_up_asked_after_s"] = _scaled_up_after_s(timeline)
    return result


def _embeddings_per_s(bulk: Run) -> float:
    return round(sum(sample.is_ok for sample in bulk.samples) * TEXTS_A_CALL / bulk.elapsed_s, 1)


def _scaled_up_after_s(timeline: Timeline) -> float | None:
    """Seconds from the beginning of the flood until Serve wanted more Embedders; None where it never did."""
    [flood] = [phase for phase in timeline.phases if phase.name == "flood"]
    times = [
        snapshot.time - timeline.began - flood.begin_s
        for snapshot in timeline.snapshots
        if snapshot.replicas[_EMBEDDER].target > 1
    ]
    return round(times[0], 1) if times else None
