"""The samples of a load run and their summary. Standard library only: peers import it too."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT = "timeout"
"""Status of a request without an answer in time."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One request; times are seconds since the run began.

    Attributes:
        index: Position in the plan.
        due_s: Planned time of sending.
        sent_s: Time of sending; later than `due_s` where the generator itself was late.
        done_s: Time of the answer, or of giving up.
        status: HTTP status as text, `timeout`, or the name of the error.
    """

    index: int
    due_s: float
    sent_s: float
    done_s: float
    status: str

    @property
    def latency_s(self) -> float:
        """Latency since the request was due, so that time in any queue counts (SERVING §5)."""
        return self.done_s - self.due_s

    @property
    def lag_s(self) -> float:
        """Seconds by which the generator sent the request late."""
        return self.sent_s - self.due_s

    @property
    def is_ok(self) -> bool:
        """Whether the status is 2xx."""
        return self.status.startswith("2")


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of one run; latencies are over answered requests and those given up, whose time is a lower bound.

    Attributes:
        offered_per_s: Due requests per second.
        completed_per_s: Successful requests per second (status 2xx).
        lag_p95_ms: Lateness of the generator; the latencies are valid only where they are far above it.
        statuses: Number of requests by status.
        client_cpu: CPU seconds of the generator's process per second.
    """

    requests: int
    offered_per_s: float
    completed_per_s: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    lag_p95_ms: float
    statuses: dict[str, int]
    client_cpu: float

    @property
    def failed(self) -> int:
        """Number of requests without a 2xx status."""
        return sum(count for status, count in self.statuses.items() if not status.startswith("2"))


@dataclass(frozen=True, slots=True)
class Run:
    """All requests of one run, in the order in which they ended.

    Attributes:
        seconds: Seconds in which requests were sent: to the end of the schedule, or until the work was done.
        elapsed_s: Seconds until the last answer.
        client_cpu_s: CPU seconds that the generator's process used.
    """

    samples: Sequence[Sample]
    seconds: float
    elapsed_s: float
    client_cpu_s: float

    def summary(self, *, since_s: float = 0.0) -> Summary:
        """The figures without the requests that were due before `since_s`.

        Raises:
            ValueError: No request is left.
        """
        kept = [sample for sample in self.samples if sample.due_s >= since_s]
        if not kept:
            raise ValueError(f"no request was due after {since_s:g} s")
        counted = [sample for sample in kept if sample.is_ok or sample.status == TIMEOUT] or kept
        latencies = sorted(sample.latency_s * 1e3 for sample in counted)
        last_done = max(self.seconds, *(sample.done_s for sample in kept))
        return Summary(
            requests=len(kept),
            offered_per_s=round(len(kept) / (self.seconds - since_s), 2),
            completed_per_s=round(sum(sample.is_ok for sample in kept) / (last_done - since_s), 2),
            p50_ms=round(percentile(latencies, 50), 2),
            p90_ms=round(percentile(latencies, 90), 2),
            p95_ms=round(percentile(latencies, 95), 2),
            p99_ms=round(percentile(latencies, 99), 2),
            max_ms=round(latencies[-1], 2),
            lag_p95_ms=round(percentile(sorted(sample.lag_s * 1e3 for sample in kept), 95), 2),
            statuses=dict(Counter(sample.status for sample in kept)),
            client_cpu=round(self.client_cpu_s / self.elapsed_s, 3),
        )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest of the ordered values that at least `percent` of them do not exceed (nearest rank).

    Raises:
        ValueError: There is no value.
    """
    if not ordered:
        raise ValueError("no values")
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
