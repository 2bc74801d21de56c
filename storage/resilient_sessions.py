"""A session store that goes on without its server (DESIGN §7: Redis down → an in-process session)."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from memory.coreference.resolutions import CoreferenceResolution
from memory.dialogue import Session, Turn
from memory.errors import StoreUnavailable
from memory.ports.sessions import SessionStore

from .memory_sessions import InMemorySessions

_log = structlog.get_logger(__name__)


class ResilientSessions(SessionStore):
    """Wraps a store; while it is away, sessions live in this process, and are written to it when it is back.

    Nothing waits for a store that is known to be away: a background task probes it. What was said before it went away
    is not seen until it returns.

    Args:
        primary: The store that is meant to answer.
        fallback: Where sessions live meanwhile.
        probe_interval_s: How often the primary is tried while it is away.
        max_held_back: How many changes are kept for it; beyond, the oldest are lost to it and counted in `lost`.
    """

    def __init__(
        self,
        primary: SessionStore,
        fallback: InMemorySessions,
        *,
        probe_interval_s: float = 1.0,
        max_held_back: int = 10_000,
    ) -> None:
        self.fallbacks = 0
        self.lost = 0
        self._primary = primary
        self._fallback = fallback
        self._probe_interval_s = probe_interval_s
        self._max_held_back = max_held_back
        self._held_back: deque[Callable[[], Awaitable[None]]] = deque()
        self._recovery: asyncio.Task[None] | None = None

    @property
    def degraded(self) -> bool:
        """Whether the fallback answers now; `fallbacks` counts the calls that it answered."""
        return self._recovery is not None

    async def load(self, session_id: str, *, user_id: str) -> Session:
        """The session, or an empty one that starts now."""
        if not self.degraded:
            try:
                return await self._primary.load(session_id, user_id=user_id)
            except StoreUnavailable as error:
                self._degrade(error)
        self.fallbacks += 1
        return await self._fallback.load(session_id, user_id=user_id)

    async def append(
        self,
        session_id: str,
        *,
        user_id: str,
        turns: Sequence[Turn],
        mentioned: Sequence[str] = (),
        resolutions: Sequence[CoreferenceResolution] = (),
        deixis: Sequence[str] = (),
    ) -> None:
        """Adds turns and what was seen in them."""
        await self._change(
            lambda store: store.append(
                session_id,
                user_id=user_id,
                turns=turns,
                mentioned=mentioned,
                resolutions=resolutions,
                deixis=deixis,
            )
        )

    async def clear(self, session_id: str, *, user_id: str) -> None:
        """Forgets the session."""
        await self._change(lambda store: store.clear(session_id, user_id=user_id))

    async def ping(self) -> None:
        """Asks the primary, so that health shows it; raises while it is away although sessions go on."""
        await self._primary.ping()

    async def close(self) -> None:
        """Stops probing; what the primary has not got by now is lost."""
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.gather(self._recovery, return_exceptions=True)
            self._recovery = None

    async def _change(self, change: Callable[[SessionStore], Awaitable[None]]) -> None:
        if not self.degraded:
            try:
                return await change(self._primary)
            except StoreUnavailable as error:
                self._degrade(error)
        self.fallbacks += 1
        await change(self._fallback)
        self._held_back.append(partial(change, self._primary))
        if len(self._held_back) > self._max_held_back:
            self._held_back.popleft()
            self.lost += 1
        return None

    def _degrade(self, error: StoreUnavailable) -> None:
        if self._recovery is None:
            _log.warning("sessions_degraded", error=error.message)
            self._recovery = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        while True:
            await asyncio.sleep(self._probe_interval_s)
            try:
                await self._primary.ping()
                # The queue may grow meanwhile; no await stands between its last check and the switch back.
                while self._held_back:
                    change = self._held_back[0]
                    await change()
                    if self._held_back and self._held_back[0] is change:
                        self._held_back.popleft()
            except StoreUnavailable:
                continue
            self._recovery = None
            self._fallback.forget_all()
            _log.info("sessions_recovered", fallbacks=self.fallbacks, lost=self.lost)
            return
