"""Keeps new memories away from a user who is being erased."""

import time
from collections.abc import Callable

from ..ports.jobs import RunLog
from ..values.errors import Conflict, StoreUnavailable
from ..values.governance.erasures import ErasureKind
from .requests import RequestLog


class ErasureGuard:
    """Refuses requests about users whose erasure as a whole is pending.

    Args:
        runs: Where the requests for erasure are recorded.
        refresh_s: Seconds for which they are not read again.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, runs: RunLog, *, refresh_s: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = RequestLog(runs)
        self._refresh_s = refresh_s
        self._clock = clock
        self._users: frozenset[str] = frozenset()
        self._fresh_until = -float("inf")

    async def check(self, user_id: str) -> None:
        """Returns unless the user is being erased; while the record is away, what was read last counts.

        Raises:
            Conflict: The user is being erased.
        """
        if self._clock() >= self._fresh_until:
            self._fresh_until = self._clock() + self._refresh_s
            try:
                pending = await self._log.pending()
            except StoreUnavailable:
                pass
            else:
                targets = [request.target for request in pending if request.target is not None]
                self._users = frozenset(target.user_id for target in targets if target.scope.kind is ErasureKind.USER)
        if user_id in self._users:
            raise Conflict("Everything of this user is being erased; try again when GET /erasures/{id} says done.")
