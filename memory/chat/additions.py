"""Writes down what was said: to the raw log, then to the session; and has it learned (DESIGN §3.5, §3.6)."""

from collections.abc import Sequence

import structlog

from ..ports.record import SystemOfRecord
from ..ports.services import LearningService, LearnReport
from ..ports.sessions import SessionStore
from ..values.base import SessionId, UserId
from ..values.dialogue import Role
from ..values.errors import Unavailable
from ..values.ids import memory_id, new_id, resource_id
from ..values.mentions import MentionLevel
from ..values.records import Resource, ResourceKind
from .messages import Acknowledged, Added, ChatMessage, NewMemory, Reply, Understood

_log = structlog.get_logger(__name__)


class MemoryAdditions:
    """Writes turns and other texts to the raw log and hands them to the learner."""

    def __init__(self, *, record: SystemOfRecord, sessions: SessionStore, learning: LearningService) -> None:
        self._record = record
        self._sessions = sessions
        self._learning = learning

    async def add_turn(
        self, message: ChatMessage, understood: Understood, reply: Reply | None, *, degraded: Sequence[str] = ()
    ) -> Acknowledged:
        """Keeps a message with its reply, in the log and in the session.

        The session keeps what the message mentions and refers to; where the message corrects an earlier resolution,
        that one's entry gets `corrected`, the name of what was meant, and the right one comes behind it (000 §4.3).

        Args:
            message: What was said.
            understood: What it means.
            reply: What is answered.
            degraded: Parts besides those of `understood` that could not do their work.

        Raises:
            StoreUnavailable: The turn could not be written down; nothing was acknowledged.
        """
        extraction, resolution = understood.extraction, understood.resolution
        said = _said(message, understood)
        turns = [said.as_turn(extraction.mentions)]
        resources = [said]
        if reply:
            answer = _answer(message, said, reply)
            turns.append(answer.as_turn(None if reply.can_be_referred_to else ()))
            resources.append(answer)
        missing = [*understood.degraded, *degraded]
        if not await self._record.append(resources, user_id=message.user_id):
            missing.append("record")
        revision = resolution.revision
        await self._sessions.append(
            message.session_id,
            user_id=message.user_id,
            turns=turns,
            mentioned=[mention.entity_id for mention in extraction.mentions if mention.entity_id],
            resolutions=[*resolution.resolutions, *((revision.resolution,) if revision else ())],
            deixis=[mention.text for mention in extraction.mentions if mention.level is MentionLevel.SESSION],
            revision=revision,
        )
        learned = await self._learn(message.user_id, wait=message.wait)
        if message.wait and learned is None:
            missing.append("learner")
        return Acknowledged(
            turn_id=said.resource_id,
            memory_id=memory_id(message.user_id, said.resource_id),
            reply_id=resources[1].resource_id if reply else "",
            degraded=tuple(dict.fromkeys(missing)),
            learned=learned,
        )

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
        except Unavailable as error:  # what was said is safe: it stays on the backlog
            _log.warning("learning_postponed", component=error.component, error=error.message)
            return None


def _said(message: ChatMessage, understood: Understood) -> Resource:
    resolution = understood.resolution
    id_ = resource_id(message.user_id, message.session_id, message.turn_id) if message.turn_id else new_id()
    return Resource(
        resource_id=id_,
        user_id=message.user_id,
        session_id=message.session_id,
        content=message.message,
        resolved=resolution.resolved_query if resolution.resolutions or resolution.revision else None,
        understanding=understood.extraction,
        metadata=message.metadata,
        created_at=message.now,
    )


def _answer(message: ChatMessage, said: Resource, reply: Reply) -> Resource:
    return Resource(
        resource_id=resource_id(message.user_id, message.session_id, f"reply to {said.resource_id}"),
        user_id=message.user_id,
        session_id=message.session_id,
        role=Role.ASSISTANT,
        content=reply.text,
        metadata=reply.metadata,
        created_at=message.now,
        learn=reply.learn,
    )


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
