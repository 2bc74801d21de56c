"""What a run of the scaling benchmark sees."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.load.samples import Run
from deployments.host.watch import Snapshot


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
