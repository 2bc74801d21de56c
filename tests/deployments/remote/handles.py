"""Stand-ins for the responses of Ray Serve's handles."""

import asyncio
from collections.abc import Awaitable
from typing import Any


class Response:
    """What a handle's `remote()` gives: awaitable, and it can be cancelled."""

    def __init__(self, work: Awaitable[Any]) -> None:
        self._work = asyncio.ensure_future(work)
        self.cancelled = False

    def __await__(self) -> Any:
        return self._work.__await__()

    def cancel(self) -> None:
        self.cancelled = True
        self._work.cancel()


class Broadcast:
    """What a handle's `broadcast()` gives: what each replica answered or raised."""

    def __init__(self, results: list[Any]) -> None:
        self._results = results

    async def results_async(self, *, return_exceptions: bool) -> list[Any]:
        assert return_exceptions
        return self._results
