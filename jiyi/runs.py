"""Watching a run of the service: it goes on by itself, whoever watches."""

import time
from collections.abc import Callable, Mapping
from typing import Any

_POLL_S = 0.3


class RunLost(Exception):
    """The run is not the last one any more; what it had done stays done."""


def watched(
    run: Mapping[str, Any],
    ask: Callable[[], Mapping[str, Any] | None],
    show: Callable[[Mapping[str, Any]], object],
    *,
    lost: str,
) -> Mapping[str, Any]:
    """Shows every state of a run after the one given, until it is under way no more; returns the last.

    Args:
        run: Its state now.
        ask: Gets the state of the last run.
        show: Shows a state.
        lost: What to say where the last run is another one.

    Raises:
        RunLost: The service knows another run, or none.
    """
    while run["state"] == "running":
        time.sleep(_POLL_S)
        now = ask()
        if now is None or now["run_id"] != run["run_id"]:
            raise RunLost(lost)
        run = now
        show(run)
    return run
