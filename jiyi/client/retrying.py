"""When a call is sent again: only where that is harmless, later each time, and no longer than there is patience."""

import random
import time
from collections.abc import Callable
from typing import TypeAlias

import httpx

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 8.0
_PROBLEM_JSON = "application/problem+json"
_AWAY = frozenset({500, 502, 503, 504})

Outcome: TypeAlias = httpx.Response | httpx.RequestError
"""What an attempt came to."""


class Attempts:
    """Decides after each attempt of one call whether, and when, to make another.

    A call that may be repeated (it changes nothing, says what is to be, or carries an id of its own) is sent again
    after every failure that may pass. One that may not is sent again only where it was certainly not carried out: no
    connection was made, or the service refused it unread.

    Args:
        repeatable: Whether carrying the call out twice is harmless.
        patience_s: For how long attempts are made; 0 for one attempt.
        clock: The time in seconds.
    """

    def __init__(self, *, repeatable: bool, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._repeatable = repeatable
        self._clock = clock
        self._end = clock() + patience_s
        self._longest_s = FIRST_PAUSE_S

    def pause_s(self, outcome: Outcome) -> float | None:
        """Seconds until the next attempt; None where this outcome is the last one."""
        left_s = self._end - self._clock()
        if left_s <= 0 or not self._may_pass(outcome):
            return None
        given = retry_after_s(outcome) if isinstance(outcome, httpx.Response) else None
        pause_s = backoff_s(self._longest_s, FIRST_PAUSE_S if given is None else given)
        self._longest_s = min(LONGEST_PAUSE_S, 2 * self._longest_s)
        return min(pause_s, left_s)

    def _may_pass(self, outcome: Outcome) -> bool:
        if isinstance(outcome, httpx.RequestError):
            unsent = isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
            return unsent or (
                self._repeatable
                and isinstance(outcome, httpx.TimeoutException | httpx.NetworkError | httpx.RemoteProtocolError)
            )
        status = outcome.status_code
        if status == 429:
            return True
        if status in (404, 503) and not _is_ours(outcome):
            return True  # of a service that is starting and has no routes yet, or a proxy before it
        return self._repeatable and status in _AWAY


def backoff_s(longest_s: float, at_least_s: float) -> float:
    """A pause of at least so many seconds, and of at most `longest_s` more.

    Never twice the same: what all refused callers repeat at once keeps a service overloaded.
    """
    return at_least_s + random.uniform(0.0, longest_s)


def retry_after_s(response: httpx.Response) -> float | None:
    """The header `Retry-After` in seconds; None where there is none, or none that can be read."""
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _is_ours(response: httpx.Response) -> bool:
    return str(response.headers.get("content-type", "")).startswith(_PROBLEM_JSON)
