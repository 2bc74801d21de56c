"""Keeps sessions and rate limits in this process while their server is unavailable (DESIGN §7)."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from typing_extensions import override

from memory.ports.stores.coordination import RateLimiter
from memory.ports.stores.sessions import HISTORY_TTL, HISTORY_TURNS, SessionStore
from memory.values.base import utc_now
from memory.values.errors import BadRequest, StoreUnavailable, Unavailable
from memory.values.understanding.dialogue import Session, SessionContext, Turn
from memory.values.understanding.resolutions import Clarification, CoreferenceResolution, Revision

from ..inmemory.sessions import InMemorySessions
from .circuit import Circuit

Recall = Callable[[str, str], Awaitable[Sequence[Turn]]]
"""The turns of a session from another store, oldest first, given the session and the user."""

_MOST_RECALLED = 10_000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Change:
    """A change that waits for the primary.

    Args:
        user_id: Whose session it changes.
        apply: Makes the change.
    """

    user_id: str
    apply: Callable[[], Awaitable[None]]


class ResilientSessions(SessionStore):
    """Wraps a store; while it is unavailable, sessions live in this process, and are written to it when it is back.

    Nothing waits for a store that is known to be unavailable: a background task probes it. Meanwhile a session is seen
    as `recall` knows it, with its turns of the last hour; what else the store knew of it is not seen.

    Args:
        primary: The store that is meant to answer.
        fallback: Where sessions live meanwhile.
        recall: Reads earlier turns, from the raw log for example; without it they are missing. It does not know that
            a session was cleared.
        recall_deadline_s: How long that may take; it is tried again with the session's next turn.
        probe_interval_s: How often the primary is tried while it is unavailable.
        max_held_back: How many changes are kept for it; beyond, the oldest are lost to it and counted in `lost`.
        now: The clock.
    """

    def __init__(
        self,
        primary: SessionStore,
        fallback: InMemorySessions,
        *,
        recall: Recall | None = None,
        recall_deadline_s: float = 0.5,
        probe_interval_s: float = 1.0,
        max_held_back: int = 10_000,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.fallbacks = 0
        self.lost = 0
        self.outages = 0
        self._primary = primary
        self._fallback = fallback
        self._recall = recall
        self._recall_deadline_s = recall_deadline_s
        self._probe_interval_s = probe_interval_s
        self._max_held_back = max_held_back
        self._now = now
        self._held_back: deque[_Change] = deque()
        self._recalled: set[tuple[str, str]] = set()
        self._recovery: asyncio.Task[None] | None = None
        self._away_since: datetime | None = None
        self._last_error = ""

    @property
    def degraded(self) -> bool:
        """Whether the fallback answers now; `fallbacks` counts the calls that it answered."""
        return self._recovery is not None

    @override
    async def load(self, session_id: str, *, user_id: str) -> Session:
        if not self.degraded:
            try:
                return await self._primary.load(session_id, user_id=user_id)
            except StoreUnavailable as error:
                self._degrade(error)
        await self._recall_turns(session_id, user_id)
        if not self.degraded:  # the primary came back meanwhile
            return await self.load(session_id, user_id=user_id)
        self.fallbacks += 1
        return await self._fallback.load(session_id, user_id=user_id)

    @override
    async def append(
        self,
        session_id: str,
        *,
        user_id: str,
        turns: Sequence[Turn],
        mentioned: Sequence[str] = (),
        resolutions: Sequence[CoreferenceResolution] = (),
        deixis: Sequence[str] = (),
        referred: str | None = None,
        revision: Revision | None = None,
        asked: Clarification | None = None,
        query: str = "",
        to_forget: Sequence[Sequence[str]] = (),
    ) -> None:
        await self._change(
            lambda store: store.append(
                session_id,
                user_id=user_id,
                turns=turns,
                mentioned=mentioned,
                resolutions=resolutions,
                deixis=deixis,
                referred=referred,
                revision=revision,
                asked=asked,
                query=query,
                to_forget=to_forget,
            ),
            user_id,
        )

    @override
    async def store_context(self, context: SessionContext, *, user_id: str) -> None:
        await self._change(lambda store: store.store_context(context, user_id=user_id), user_id)

    @override
    async def clear(self, session_id: str, *, user_id: str) -> None:
        await self._change(lambda store: store.clear(session_id, user_id=user_id), user_id)
        if self.degraded:
            self._recalled.add((user_id, session_id))

    @override
    async def forget(self, session_id: str, *, user_id: str, turn_ids: Sequence[str]) -> bool:
        """Forgets them here and in the primary; unlike other changes it does not wait for a primary that is away."""
        await self.forget_here(user_id)
        return await self._primary.forget(session_id, user_id=user_id, turn_ids=turn_ids)

    @override
    async def clear_user(self, user_id: str) -> int:
        """Forgets them here and in the primary; unlike other changes it does not wait for a primary that is away."""
        await self.forget_here(user_id)
        return await self._primary.clear_user(user_id)

    async def forget_here(self, user_id: str) -> None:
        """Forgets what this process alone holds of a user, with the changes that wait for the primary."""
        await self._fallback.clear_user(user_id)
        kept = [change for change in self._held_back if change.user_id != user_id]
        self._held_back.clear()
        self._held_back.extend(kept)

    @override
    async def purge(self) -> bool:
        return await self._primary.purge()

    @override
    async def ping(self) -> None:
        """Asks the primary, so that health shows it; raises while it is unavailable although sessions go on."""
        await self._primary.ping()

    def figures(self) -> Mapping[str, float | str]:
        """For `/health/detailed`: totals since the start; while the primary is unavailable, since when and why."""
        figures: dict[str, float | str] = {
            "fallbacks": self.fallbacks,
            "outages": self.outages,
            "held_back": len(self._held_back),
            "lost": self.lost,
        }
        if self._away_since is not None:
            figures |= {"status": "degraded", "error": self._last_error, "since": self._away_since.isoformat()}
        return figures

    async def close(self) -> None:
        """Stops probing; what the primary has not got by now is lost to it."""
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.gather(self._recovery, return_exceptions=True)
            self._recovery = None

    async def _change(self, change: Callable[[SessionStore], Awaitable[None]], user_id: str) -> None:
        if not self.degraded:
            try:
                return await change(self._primary)
            except StoreUnavailable as error:
                self._degrade(error)
        self.fallbacks += 1
        await change(self._fallback)
        self._held_back.append(_Change(user_id, partial(change, self._primary)))
        if len(self._held_back) > self._max_held_back:
            self._held_back.popleft()
            self.lost += 1
        return None

    async def _recall_turns(self, session_id: str, user_id: str) -> None:
        """Brings the turns of the last hour into the fallback, once in an outage."""
        if self._recall is None or (user_id, session_id) in self._recalled:
            return
        try:
            async with asyncio.timeout(self._recall_deadline_s):
                turns = await self._recall(session_id, user_id)
        except (Unavailable, BadRequest, TimeoutError) as error:
            _log.warning("session_not_recalled", error=str(error) or type(error).__name__)
            return
        if not self.degraded or (user_id, session_id) in self._recalled:
            return
        recent = [turn for turn in turns if turn.created_at > self._now() - HISTORY_TTL]
        self._fallback.recall(session_id, user_id=user_id, turns=recent[-HISTORY_TURNS:])
        if len(self._recalled) >= _MOST_RECALLED:
            self._recalled.clear()  # to recall a session again does no harm
        self._recalled.add((user_id, session_id))

    def _degrade(self, error: StoreUnavailable) -> None:
        self._last_error = error.message
        if self._recovery is None:
            self.outages += 1
            self._away_since = self._now()
            _log.warning("sessions_degraded", error=error.message)
            self._recovery = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        while True:
            await asyncio.sleep(self._probe_interval_s)
            try:
                await self._primary.ping()
                # The queue may grow meanwhile; no await stands between its last check and the switch back.
                while self._held_back:
                    await self._replay(self._held_back[0])
            except StoreUnavailable as error:
                self._last_error = error.message
                continue
            self._recovery = None
            self._away_since = None
            self._recalled.clear()
            self._fallback.forget_all()
            _log.info("sessions_recovered", fallbacks=self.fallbacks, lost=self.lost)
            return

    async def _replay(self, change: _Change) -> None:
        try:
            await change.apply()
        except BadRequest as error:
            self.lost += 1
            _log.error("session_change_refused", error=error.message)
        if self._held_back and self._held_back[0] is change:
            self._held_back.popleft()


class ResilientRateLimiter(RateLimiter):
    """Asks the shared limiter, and one of this process while that is unavailable; each process then counts for itself.

    Args:
        primary: The limiter that is meant to answer.
        fallback: The one that answers meanwhile.
        circuit: Decides how long the primary may take and when it is tried again; nobody should wait for it twice, so
            it should open at the first failure.
    """

    def __init__(self, primary: RateLimiter, fallback: RateLimiter, *, circuit: Circuit) -> None:
        self.fallbacks = 0
        self._primary = primary
        self._fallback = fallback
        self._circuit = circuit

    @override
    async def take(self, *, user_id: str) -> None:
        try:
            await self._circuit.call(lambda: self._primary.take(user_id=user_id))
        except StoreUnavailable:  # the circuit has logged and counted it
            self.fallbacks += 1
            await self._fallback.take(user_id=user_id)

    def figures(self) -> Mapping[str, float | str]:
        """For `/health/detailed`: the state of the circuit, and how many requests were counted here."""
        return {"fallbacks": self.fallbacks, **self._circuit.figures()}

    async def close(self) -> None:
        """Stops probing an unavailable limiter."""
        await self._circuit.close()
