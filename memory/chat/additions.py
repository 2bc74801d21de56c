"""Adding memories that were not said to Jiyi itself: recorded turns, notes, documents' passages."""

from collections.abc import Sequence

import structlog

from ..ports.record import SystemOfRecord
from ..ports.services import LearningService, LearnReport
from ..ports.sessions import SessionStore
from ..values.base import Scalar, SessionId, Timestamp, UserId, Value
from ..values.dialogue import Role
from ..values.errors import Unavailable
from ..values.ids import memory_id, new_id, resource_id
from ..values.mentions import Extraction
from ..values.records import Resource, ResourceKind

_log = structlog.get_logger(__name__)


class NewMemory(Value):
    """One text to keep.

    `turn_id` is the caller's own id: adding the same again adds nothing. `understanding` is what the caller has found
    in the text already, if anything.
    """

    content: str
    kind: ResourceKind = ResourceKind.TURN
    role: Role = Role.USER
    speaker: str | None = None
    turn_id: str | None = None
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp
    understanding: Extraction | None = None


class Added(Value):
    """What an addition is called from now on."""

    id: str
    resource_id: str
    text: str


class MemoryAdditions:
    """Writes texts to the raw log and hands them to the learner."""

    def __init__(self, *, record: SystemOfRecord, sessions: SessionStore, learning: LearningService) -> None:
        self._record = record
        self._sessions = sessions
        self._learning = learning

    async def add(
        self, additions: Sequence[NewMemory], *, user_id: UserId, session_id: SessionId, wait: bool
    ) -> tuple[list[Added], LearnReport | None]:
        """Appends all of them in one transaction; with `wait`, they are learned and indexed before this returns.

        Returns:
            What was added, in order; and what was learned, where that was waited for and could be done: what cannot be
            learned now is safe all the same, and learned later.

        Raises:
            StoreUnavailable: Nothing was written.
        """
        resources = [_resource(addition, user_id, session_id) for addition in additions]
        await self._record.append(resources, user_id=user_id)
        turns = [resource.as_turn() for resource in resources if resource.kind is ResourceKind.TURN]
        if turns:
            await self._sessions.append(session_id, user_id=user_id, turns=turns)
        added = [
            Added(id=memory_id(user_id, resource.resource_id), resource_id=resource.resource_id, text=resource.content)
            for resource in resources
        ]
        return added, await self._learn(user_id, wait=wait)

    def notify(self, *, user_id: str) -> None:
        """Says that something of this user changed and should reach the vector index; returns at once."""
        self._learning.notify(user_id=user_id)

    async def _learn(self, user_id: str, *, wait: bool) -> LearnReport | None:
        if not wait:
            self._learning.notify(user_id=user_id)
            return None
        try:
            return await self._learning.learn(user_id=user_id)
        except Unavailable as error:
            _log.warning("learning_postponed", component=error.component, error=error.message)
            return None


def _resource(addition: NewMemory, user_id: str, session_id: str) -> Resource:
    return Resource(
        resource_id=resource_id(user_id, session_id, addition.turn_id) if addition.turn_id else new_id(),
        user_id=user_id,
        session_id=session_id,
        kind=addition.kind,
        role=addition.role,
        speaker=addition.speaker,
        content=addition.content,
        metadata=addition.metadata,
        created_at=addition.created_at,
        understanding=addition.understanding,
    )
