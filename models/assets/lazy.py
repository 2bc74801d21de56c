"""Loading at the first call, by one thread for all."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Calls a function at the first call and gives its result ever after; a call that raises is tried again.

    Args:
        load: Called by one thread at a time.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loaded: T | None = None

    def __call__(self) -> T:
        """The result; a caller that finds it there does not wait."""
        if (loaded := self._loaded) is not None:
            return loaded
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded
