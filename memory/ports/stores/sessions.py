"""Sessions: short-lived state of a conversation (000 §3.1 L1 and L3, §5.3)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta

from ...values.understanding.dialogue import Session, SessionContext, Turn
from ...values.understanding.resolutions import Clarification, CoreferenceResolution, Revision

CONTEXT_TTL = timedelta(hours=24)
"""000 §5.3."""
HISTORY_TTL = timedelta(hours=1)
"""000 §3.1, L3."""
HISTORY_TURNS = 40
MENTIONED_ENTITIES = 50
COREFERENCE_HISTORY = 20
DEIXIS_WORDS = 20


class SessionStore(ABC):
    """Reads and updates sessions; a session belongs to one user, whatever its id."""

    @abstractmethod
    async def load(self, session_id: str, *, user_id: str) -> Session:
        """The session, or an empty one that starts now.

        Raises:
            StoreUnavailable: The store cannot answer.
        """

    @abstractmethod
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
        """Adds turns and what was seen in them, in one atomic step; renews both times to live.

        `mentioned` are entity ids, moved to the end of `mentioned_entities` (000 §5.4, `add_entity_to_session`);
        `referred`, else the entity id of the last resolution that has one, becomes `last_referred_entity`. What
        `revision` rejects gets `corrected`, the name of what was meant: the latest entry of `coreference_history` that
        resolved the same words to it and has none yet. `asked` is the question about a reference that stays open, and
        `query` the text that it and `resolutions` have offsets into: a later correction or answer needs them.
        `to_forget` replaces what the context has: only the message after the question may answer it. Every list is cut
        to its bound above, oldest first. A turn whose `turn_id` is already in the history is not added again.
        """

    @abstractmethod
    async def store_context(self, context: SessionContext, *, user_id: str) -> None:
        """Replaces what the session remembers besides its turns (000 §5.4); its bounds and its time to live apply.

        Raises:
            InvalidField: It is another user's context.
        """

    @abstractmethod
    async def clear(self, session_id: str, *, user_id: str) -> None:
        """Forgets the session."""

    @abstractmethod
    async def forget(self, session_id: str, *, user_id: str, turn_ids: Sequence[str]) -> bool:
        """Forgets turns of a session, and everything that it remembers besides its turns; whether there was any.

        Raises:
            StoreUnavailable: The store cannot answer; some of it may be gone.
        """

    @abstractmethod
    async def clear_user(self, user_id: str) -> int:
        """Forgets all sessions of a user, and what else the store holds of the user; how many sessions there were.

        Raises:
            StoreUnavailable: The store cannot answer; some of them may be gone.
        """

    @abstractmethod
    async def purge(self) -> bool:
        """Removes what forgotten sessions left in files; whether that is certain, or left to a server.

        Raises:
            StoreUnavailable: It could not be done now.
        """

    @abstractmethod
    async def ping(self) -> None:
        """Returns when the store answers.

        Raises:
            StoreUnavailable: It does not.
        """
