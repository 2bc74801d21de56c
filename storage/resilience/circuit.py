"""Deadlines and circuit breaking: calls to a store that is known to be unavailable fail at once (DESIGN §7)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeVar

import structlog

from memory.values.errors import BadRequest, StoreUnavailable, Unavailable

T = TypeVar("T")
_log = structlog.get_logger(__name__)


class CircuitState(StrEnum):
    """The state of a circuit."""

    CLOSED = "closed"
    """Calls go to the store."""
    OPEN = "open"
    """Calls fail at once: the store is unavailable."""
    HALF_OPEN = "half_open"
    """One call is trying the store; the others fail at once."""


class Circuit:
    """A circuit breaker between an adapter and its store; one for each store and process.

    After `threshold` failures in a row the circuit opens: calls fail at once. A failure that took more than half of
    the deadline opens it alone, since the next call would wait as long. With a probe (`use_probe`),
    the store is then asked every `retry_after_s` in the background, and nobody waits for it until it answers;
    without one, a call is let through after `retry_after_s`, and its outcome closes the circuit or keeps it open.
    Only `StoreUnavailable` and a missed deadline count as failures: a request that the store understood and refused
    (`BadRequest`) counts as a success. Any other exception, and a cancelled call, is ignored. So is a call
    from before the circuit last opened or closed: calls that a hanging store left behind must neither close the circuit
    nor open it again once the store is back.

    Use it in one event loop.

    Written by hand: the maintained breakers for asyncio let any number of calls try a store that may be back, and have
    no deadlines.

    Args:
        component: The store's name in errors, logs and `/health/detailed`.
        deadline_s: How long a call may take.
        threshold: See above.
        retry_after_s: See above.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        component: str,
        *,
        deadline_s: float,
        threshold: int = 3,
        retry_after_s: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.component = component
        self.failures = 0
        self.rejected = 0
        self.opened = 0
        self.last_error = ""
        self._deadline_s = deadline_s
        self._threshold = threshold
        self._retry_after_s = retry_after_s
        self._probe: Callable[[], Awaitable[object]] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._clock = clock
        self._failures_in_a_row = 0
        self._open_until: float | None = None
        self._trying = False
        self._generation = 0

    def use_probe(self, probe: Callable[[], Awaitable[object]]) -> None:
        """Probes an unavailable store with this: a request as small as possible that bypasses the circuit."""
        self._probe = probe

    @property
    def state(self) -> CircuitState:
        """The state for the next call."""
        if self._open_until is None:
            return CircuitState.CLOSED
        return CircuitState.HALF_OPEN if self._trying or self._clock() >= self._open_until else CircuitState.OPEN

    async def call(self, work: Callable[[], Awaitable[T]], *, deadline_s: float | None = None) -> T:
        """Awaits `work()`, within the deadline.

        Raises:
            StoreUnavailable: The circuit is open, the deadline has passed, or `work` raised it.
        """
        trial = self._admit()
        generation, begin = self._generation, self._clock()
        seconds = self._deadline_s if deadline_s is None else deadline_s
        try:
            async with asyncio.timeout(seconds) as limit:
                result = await work()
        except StoreUnavailable as error:
            self._failed(error.message, generation, slow=self._clock() - begin > self._deadline_s / 2)
            raise
        except BadRequest:
            self._succeeded(generation)
            raise
        except TimeoutError as error:
            if not limit.expired():
                raise
            missed = f"{self.component} did not answer within {seconds:g} s."
            self._failed(missed, generation, slow=True)
            raise StoreUnavailable(missed, component=self.component) from error
        else:
            self._succeeded(generation)
            return result
        finally:
            if trial:
                self._trying = False

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the state, and totals since the start."""
        state = self.state
        figures: dict[str, float | str] = {
            "circuit": state.value,
            "failures": self.failures,
            "rejected": self.rejected,
            "opened": self.opened,
        }
        if state is not CircuitState.CLOSED:
            figures |= {"status": "degraded", "error": self.last_error}
        return figures

    async def close(self) -> None:
        """Stops probing an unavailable store."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])

    def _admit(self) -> bool:
        """Whether this call is the one that tries the store again.

        Raises:
            StoreUnavailable: The circuit is open, or another call is trying.
        """
        if self._open_until is None:
            return False
        if self._probe is not None or self._trying or self._clock() < self._open_until:
            self.rejected += 1
            raise StoreUnavailable(f"{self.component} is away: {self.last_error}", component=self.component)
        self._trying = True
        return True

    def _failed(self, reason: str, generation: int, *, slow: bool) -> None:
        self.failures += 1
        self.last_error = reason
        if generation != self._generation:
            return
        self._failures_in_a_row += self._threshold if slow else 1
        if self._open_until is not None or self._failures_in_a_row >= self._threshold:
            if self._open_until is None:
                self.opened += 1
                self._generation += 1
                _log.warning("circuit_opened", component=self.component, error=reason)
                if self._probe is not None:
                    self._watch = asyncio.get_running_loop().create_task(self._until_back(self._probe))
            self._open_until = self._clock() + self._retry_after_s

    def _succeeded(self, generation: int) -> None:
        if generation != self._generation:
            return
        if self._open_until is not None:
            self._generation += 1
            _log.info("circuit_closed", component=self.component, rejected=self.rejected)
        self._failures_in_a_row = 0
        self._open_until = None

    async def _until_back(self, probe: Callable[[], Awaitable[object]]) -> None:
        while True:
            await asyncio.sleep(self._retry_after_s)
            try:
                async with asyncio.timeout(self._deadline_s):
                    await probe()
            except (Unavailable, TimeoutError) as error:
                self.last_error = str(error) or self.last_error
            else:
                self._succeeded(self._generation)
                return
