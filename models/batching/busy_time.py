"""How long something was at work: time in which several workers are busy at once counts once."""

import time


class BusyTime:
    """A clock that runs while at least one worker is busy. No threads: whoever holds it holds a lock."""

    def __init__(self) -> None:
        self._workers = 0
        self._since = 0.0
        self._seconds = 0.0

    def begin(self) -> None:
        """A worker takes something up."""
        if not self._workers:
            self._since = time.perf_counter()
        self._workers += 1

    def end(self) -> None:
        """A worker is done."""
        self._workers -= 1
        if not self._workers:
            self._seconds += time.perf_counter() - self._since

    def seconds(self) -> float:
        """Until now."""
        return self._seconds + (time.perf_counter() - self._since if self._workers else 0.0)
