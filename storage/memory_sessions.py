"""Sessions in memory: for tests, and for the time when the session server is away."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import datetime

from memory.coreference.resolutions import CoreferenceResolution
from memory.dialogue import Session, Turn
from memory.ports.sessions import CONTEXT_TTL, HISTORY_TTL, SessionStore
from memory.values import utc_now

from .checks import check_session, check_user
from .session_state import appended, new_context


class InMemorySessions(SessionStore):
    """Sessions in a dictionary that forgets the longest unused first.

    Args:
        now: The clock by which sessions age.
        max_sessions: How many sessions are kept at most.
    """

    def __init__(self, *, now: Callable[[], datetime] = utc_now, max_sessions: int = 10_000) -> None:
        self._now = now
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

    async def load(self, session_id: str, *, user_id: str) -> Session:
        """The session, or an empty one that starts now."""
        return self._load(check_user(user_id), check_session(session_id))

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
        session = self._load(check_user(user_id), check_session(session_id))
        self._sessions[user_id, session_id] = appended(
            session, turns=turns, mentioned=mentioned, resolutions=resolutions, deixis=deixis, now=self._now()
        )
        self._sessions.move_to_end((user_id, session_id))
        if len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    async def clear(self, session_id: str, *, user_id: str) -> None:
        """Forgets the session."""
        self._sessions.pop((check_user(user_id), check_session(session_id)), None)

    async def ping(self) -> None:
        """Returns: memory always answers."""

    def forget_all(self) -> None:
        """Forgets every session of every user."""
        self._sessions.clear()

    def _load(self, user_id: str, session_id: str) -> Session:
        now = self._now()
        session = self._sessions.get((user_id, session_id))
        if session is None or now - session.context.last_activity >= CONTEXT_TTL:
            return Session(context=new_context(session_id, user_id=user_id, now=now))
        if now - session.context.last_activity >= HISTORY_TTL:
            return session.model_copy(update={"turns": ()})
        return session
