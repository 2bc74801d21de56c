"""Sessions in memory: for tests, and for the time when the session server is unavailable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cachetools import LRUCache
from typing_extensions import override

from memory.ports.stores.sessions import CONTEXT_TTL, HISTORY_TTL, SessionStore
from memory.values.base import utc_now
from memory.values.understanding.dialogue import Session, SessionContext, Turn
from memory.values.understanding.resolutions import Clarification, CoreferenceResolution, Revision

from ..shared.checks import check_owner, check_session, check_user
from ..shared.session_state import appended, bounded, new_context, with_earlier

_REMEMBERED = ("mentioned_entities", "last_referred_entity", "coreference_history", "deixis", "to_forget")


@dataclass(frozen=True)
class _Entry:
    session: Session
    context_until: datetime
    turns_until: datetime


class InMemorySessions(SessionStore):
    """Sessions in a dictionary that forgets the longest unused first.

    Args:
        now: The clock by which sessions age.
        max_sessions: How many sessions are entry at most.
    """

    def __init__(self, *, now: Callable[[], datetime] = utc_now, max_sessions: int = 10_000) -> None:
        self._now = now
        self._sessions: LRUCache[tuple[str, str], _Entry] = LRUCache(max_sessions)

    @override
    async def load(self, session_id: str, *, user_id: str) -> Session:
        return self._load(check_user(user_id), check_session(session_id)).session

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
        entry = self._load(check_user(user_id), check_session(session_id))
        now = self._now()
        session = appended(
            entry.session,
            turns=turns,
            mentioned=mentioned,
            resolutions=resolutions,
            deixis=deixis,
            referred=referred,
            revision=revision,
            asked=asked,
            query=query,
            to_forget=to_forget,
            now=now,
        )
        self._store(_Entry(session, now + CONTEXT_TTL, now + HISTORY_TTL))

    @override
    async def store_context(self, context: SessionContext, *, user_id: str) -> None:
        check_owner([context], check_user(user_id))
        entry = self._load(user_id, context.session_id)
        session = entry.session.model_copy(update={"context": bounded(context)})
        self._store(_Entry(session, self._now() + CONTEXT_TTL, entry.turns_until))

    @override
    async def clear(self, session_id: str, *, user_id: str) -> None:
        self._sessions.pop((check_user(user_id), check_session(session_id)), None)

    @override
    async def forget(self, session_id: str, *, user_id: str, turn_ids: Sequence[str]) -> bool:
        entry = self._sessions.pop((check_user(user_id), check_session(session_id)), None)
        if entry is None:
            return False
        turns = tuple(turn for turn in entry.session.turns if turn.turn_id not in turn_ids)
        if turns:
            context = new_context(session_id, user_id=user_id, now=self._now(), turns=turns)
            self._store(replace(entry, session=Session(context=context, turns=turns)))
        remembered = {field: getattr(entry.session.context, field) for field in _REMEMBERED}
        return len(turns) < len(entry.session.turns) or any(remembered.values())

    @override
    async def clear_user(self, user_id: str) -> int:
        check_user(user_id)
        cleared = [key for key in self._sessions if key[0] == user_id]
        for key in cleared:
            del self._sessions[key]
        return len(cleared)

    @override
    async def purge(self) -> bool:
        return True

    @override
    async def ping(self) -> None:
        """Returns: memory always answers."""

    def recall(self, session_id: str, *, user_id: str, turns: Sequence[Turn]) -> None:
        """Puts turns that another store knows before those of the session; does not count as activity."""
        entry = self._load(check_user(user_id), check_session(session_id))
        session = with_earlier(entry.session, turns)
        self._store(_Entry(session, entry.context_until, self._now() + HISTORY_TTL))

    def forget_all(self) -> None:
        """Forgets every session of every user."""
        self._sessions.clear()

    def _load(self, user_id: str, session_id: str) -> _Entry:
        now = self._now()
        entry = self._sessions.get((user_id, session_id))
        turns: tuple[Turn, ...] = ()
        turns_until = now + HISTORY_TTL
        if entry is not None and now < entry.turns_until:
            turns, turns_until = entry.session.turns, entry.turns_until
        if entry is not None and now < entry.context_until:
            context, context_until = entry.session.context, entry.context_until
        else:
            context = new_context(session_id, user_id=user_id, now=now, turns=turns)
            context_until = now + CONTEXT_TTL
        return _Entry(Session(context=context, turns=turns), context_until, turns_until)

    def _store(self, entry: _Entry) -> None:
        key = (entry.session.context.user_id, entry.session.context.session_id)
        self._sessions[key] = entry
