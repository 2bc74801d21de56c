"""Appends turns and other texts to the raw log and the session, and starts learning (DESIGN §3.5, §3.6)."""

from collections.abc import Sequence

import structlog

from ..ports.services import LearningService, LearnReport
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.sessions import SessionStore
from ..values.base import SessionId, UserId
from ..values.errors import Overloaded, Unavailable
from ..values.governance.forgetting import ForgetOutcome, ForgetReport, ForgetRequest
from ..values.ids import memory_id, new_id, reply_id, resource_id
from ..values.records import Resource, ResourceKind
from ..values.understanding.dialogue import Role
from ..values.understanding.mentions import MentionLevel
from ..values.understanding.readings import Intent
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
        """Appends a message and its reply to the log and the session.

        The session also stores the mentions and resolutions of the message. A correction sets `corrected` in the entry
        of the earlier resolution to the right name, and appends the corrected resolution (000 §4.3).

        Args:
            message: The user's message.
            understood: Its extraction and resolution.
            reply: The reply, if any.
            degraded: Components, besides those of `understood`, that failed in this turn.

        Raises:
            Conflict: The session has another message with this `turn_id`; nothing was stored.
            StoreUnavailable: The turn was not stored.
        """
        extraction, resolution = understood.extraction, understood.resolution
        user_entry = _user_entry(message, understood)
        turns = [user_entry.as_turn(extraction.mentions)]
        resources = [user_entry]
        if reply:
            reply_entry = _reply_entry(message, user_entry, reply)
            turns.append(reply_entry.as_turn(None if reply.can_be_referred_to else ()))
            resources.append(reply_entry)
        missing = [*understood.degraded, *degraded]
        named = [user_entry.resource_id] if message.turn_id else []
        if not await self._record.append(resources, user_id=message.user_id, named=named):
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
            asked=resolution.clarification,
            query=revision.query if revision else message.message,
        )
        learned = await self._learn_or_notify(message.user_id, wait=message.wait)
        if message.wait and learned is None:
            missing.append("learner")
        return Acknowledged(
            turn_id=user_entry.resource_id,
            memory_id=memory_id(message.user_id, user_entry.resource_id),
            reply_id=resources[1].resource_id if reply else "",
            degraded=tuple(dict.fromkeys(missing)),
            learned=learned,
        )

    async def forget(self, message: ChatMessage, understood: Understood) -> Acknowledged | None:
        """Carries out a request to forget, or the choice of what the last reply asked about; it is stored nowhere.

        Sessions forget at once what was removed; the rest is left to erasure.

        Args:
            message: The user's message.
            understood: Its extraction, and what the last reply asked about.

        Returns:
            None where the message does not ask to forget anything, or where the learner is down: it is then to be
            stored, and is carried out when it is learned.
        """
        request = _forget_request(message, understood, is_preview=False)
        report = await self._forget(request)
        if request is None or report is None:
            return None
        for session_id, turn_ids in report.turns.items():
            await self._sessions.forget(session_id, user_id=message.user_id, turn_ids=turn_ids)
        options = report.things if report.outcome is ForgetOutcome.WHICH else ()
        await self._sessions.append(
            message.session_id, user_id=message.user_id, turns=[], to_forget=[thing.ids for thing in options]
        )
        return Acknowledged(
            turn_id=request.message.resource_id,
            memory_id=memory_id(message.user_id, request.message.resource_id),
            reply_id="",
            degraded=understood.degraded,
            learned=await self._learn_or_notify(message.user_id, wait=message.wait),
            forgotten=report,
        )

    async def would_forget(self, message: ChatMessage, understood: Understood) -> ForgetReport | None:
        """What `forget` would do; None where it is no request to forget, or where the learner is down."""
        return await self._forget(_forget_request(message, understood, is_preview=True))

    async def _forget(self, request: ForgetRequest | None) -> ForgetReport | None:
        if request is None:
            return None
        try:
            return await self._learning.forget(request)
        except (Unavailable, Overloaded) as error:
            _log.warning("forgetting_postponed", error=error.message)
            return None

    async def add(
        self, additions: Sequence[NewMemory], *, user_id: UserId, session_id: SessionId, wait: bool
    ) -> tuple[list[Added], LearnReport | None]:
        """Appends texts in one transaction; with `wait`, learns and indexes them before it returns.

        Returns:
            The ids of the texts, in order; and the report of learning, None without `wait` or where learning is
            postponed because a component is down or its queue full.

        Raises:
            Conflict: The session has another text with one of these `turn_id`; nothing was stored.
            StoreUnavailable: Nothing was stored.
        """
        resources = [_resource(addition, user_id, session_id) for addition in additions]
        named = [
            resource.resource_id for addition, resource in zip(additions, resources, strict=True) if addition.turn_id
        ]
        await self._record.append(resources, user_id=user_id, named=named)
        turns = [resource.as_turn() for resource in resources if resource.kind is ResourceKind.TURN]
        if turns:
            await self._sessions.append(session_id, user_id=user_id, turns=turns)
        added = [
            Added(id=memory_id(user_id, resource.resource_id), resource_id=resource.resource_id, text=resource.content)
            for resource in resources
        ]
        return added, await self._learn_or_notify(user_id, wait=wait)

    def notify(self, *, user_id: str) -> None:
        """Requests in the background that changes of this user be indexed."""
        self._learning.notify(user_id=user_id)

    async def _learn_or_notify(self, user_id: str, *, wait: bool) -> LearnReport | None:
        if wait:
            return await self.learn(user_id=user_id)
        self._learning.notify(user_id=user_id)
        return None

    async def learn(self, *, user_id: str) -> LearnReport | None:
        """Learns what waits of this user; None where learning is postponed as a component is down or its queue full."""
        try:
            return await self._learning.learn(user_id=user_id)
        except (Unavailable, Overloaded) as error:  # the texts stay on the backlog
            _log.warning("learning_postponed", error=error.message)
            return None


def _forget_request(message: ChatMessage, understood: Understood, *, is_preview: bool) -> ForgetRequest | None:
    if Intent.FORGET not in understood.extraction.intents and not understood.to_forget:
        return None
    return ForgetRequest(
        message=_user_entry(message, understood),
        extraction=understood.extraction,
        options=understood.to_forget,
        is_preview=is_preview,
    )


def _user_entry(message: ChatMessage, understood: Understood) -> Resource:
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


def _reply_entry(message: ChatMessage, user_entry: Resource, reply: Reply) -> Resource:
    return Resource(
        resource_id=reply_id(message.user_id, message.session_id, user_entry.resource_id),
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
