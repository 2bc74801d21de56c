"""Figures of a batcher, for metrics and autoscaling."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BatcherStats:
    """The counters of a batcher, and its queue.

    Attributes:
        queued_tokens: Waiting tokens of tokenised inputs.
        running_tokens: Tokens that are being computed.
        batches: Batches taken so far.
        items: Inputs computed so far.
        tokens: Tokens of these inputs.
        padded_tokens: Tokens of these inputs with padding: `tokens / padded_tokens` is the share of useful work.
        rejected: Requests refused because the queue was full.
        poisoned: Inputs on which the engine failed.
        tokens_per_s: Moving average over batches; 0 before the first.
        busy_s: Seconds so far in which a worker computed.
        batch_tokens: The current budget of a batch in padded tokens (`BatchBudget`).
    """

    queued_tokens: int
    running_tokens: int
    batches: int
    items: int
    tokens: int
    padded_tokens: int
    rejected: int
    poisoned: int
    tokens_per_s: float
    busy_s: float
    batch_tokens: int


class BusyClock:
    """Measures the time in which at least one worker computes. Not thread-safe: the batcher holds a lock."""

    def __init__(self) -> None:
        self._workers = 0
        self._since = 0.0
        self._seconds = 0.0

    def start(self) -> None:
        """Records that a worker starts to compute."""
        if not self._workers:
            self._since = time.perf_counter()
        self._workers += 1

    def stop(self) -> None:
        """Records that a worker has finished."""
        self._workers -= 1
        if not self._workers:
            self._seconds += time.perf_counter() - self._since

    def seconds(self) -> float:
        """Busy seconds so far, work in progress included."""
        return self._seconds + (time.perf_counter() - self._since if self._workers else 0.0)
