"""When Embedder replicas are added and removed: Ray Serve calls the policy in each round of its control loop."""

import math
from collections.abc import Sequence
from typing import Any

_BUSY_SHARE = 0.8


class TokenBacklogPolicy:
    """Scales on tokens waiting, not on calls: `desired = waiting / (speed of a replica × target wait)` (DESIGN §2).

    Replicas that keep up have no backlog: by it alone they would be removed, and added again a minute later. So no
    replica is removed while the others would be more than `_BUSY_SHARE` busy with the present load.

    Ray Serve 2.60 gives the time-weighted mean of each figure over the look-back period (5 s here), for each running
    replica that has reported since it, or the controller, was started; a replica reports every second
    (`serve/_private/autoscaling_state.py`). Where none has reported, the target stays: Serve follows a policy without
    delay while no replica runs (`autoscaling_policy.py`).

    Args:
        target_wait_s: Seconds that the waiting tokens may take.
        tokens_per_s: Speed that a replica is expected to reach with full batches. A measured speed counts only where it
            is higher: single short queries never fill a batch, and would make a fast replica look slow.
    """

    def __init__(self, *, target_wait_s: float, tokens_per_s: float) -> None:
        self._target_wait_s = target_wait_s
        self._tokens_per_s = tokens_per_s

    def __call__(self, context: Any) -> tuple[int, dict[str, Any]]:
        """Ray Serve's policy interface: an `AutoscalingContext` in, the number of replicas out."""
        reported = context.aggregated_metrics or {}
        waiting = reported.get("waiting_tokens")
        if not waiting:
            return max(1, context.target_num_replicas), {}
        speed = max([self._tokens_per_s, *reported["tokens_per_s"].values()])
        for_backlog = math.ceil(sum(waiting.values()) / (speed * self._target_wait_s))
        busy = sum(_busy_share(series) for series in context.raw_metrics["busy_s"].values())
        for_rate = min(math.ceil(busy / _BUSY_SHARE), context.target_num_replicas)
        return max(1, for_backlog, for_rate), {}


def _busy_share(series: Sequence[Any]) -> float:
    """Share of the look-back period in which a replica computed.

    Args:
        series: Its seconds of work until then (`timestamp`, `value`), oldest first.
    """
    if len(series) < 2:
        return 0.0
    seconds = series[-1].timestamp - series[0].timestamp
    return float((series[-1].value - series[0].value) / seconds) if seconds > 0 else 0.0
