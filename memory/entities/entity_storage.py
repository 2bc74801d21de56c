"""000 §5.4's storage interface, method by method, over the record, the sessions and the retriever."""

from collections.abc import Callable
from datetime import datetime

import structlog

from ..ports.services import Retriever
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.sessions import SessionStore
from ..values.base import utc_now
from ..values.entities import Entity, EntityRelation, EntityType
from ..values.errors import InvalidField, StoreUnavailable
from ..values.hits import MAX_TOP_K, Hit, HitKind, SearchRequest
from ..values.understanding.dialogue import SessionContext
from ..values.understanding.mentions import EntitySubtype

_log = structlog.get_logger(__name__)


class EntityStorage:
    """Entities, their relations and session contexts (000 §5.4); every method acts for one user.

    Where 000 returns False for a failed write, `StoreUnavailable` is raised instead, so that no failure goes unnoticed;
    only `store_relation` returns False, as 000 §9.1 asks.

    Args:
        record: Stores entities and relations.
        sessions: Stores session contexts.
        retriever: Searches.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        sessions: SessionStore,
        retriever: Retriever,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._sessions = sessions
        self._retriever = retriever
        self._now = now

    async def store_entity(self, entity: Entity, *, user_id: str) -> bool:
        """Stores an entity or replaces the one with its id; the index follows (000 §5.4).

        Raises:
            InvalidField: The entity belongs to another user.
            StoreUnavailable: It was not stored.
        """
        async with self._record.writing(user_id=user_id) as unit:
            await unit.entities.save([entity])
            await unit.commit()
        return True

    async def get_entity(self, entity_id: str, *, user_id: str) -> Entity | None:
        """The entity with this id (000 §5.4)."""
        async with self._record.reading(user_id=user_id) as unit:
            return next(iter(await unit.entities.get([entity_id])), None)

    async def search_entities(
        self,
        query: str,
        *,
        user_id: str,
        limit: int = 10,
        entity_type: EntityType | EntitySubtype | None = None,
        accept: Callable[[Hit], bool] = lambda _: True,
    ) -> list[Entity]:
        """Active entities, best first, by vector, keywords and exact name (000 §5.4, §6.3).

        Args:
            query: Names or describes what is searched for.
            user_id: The user.
            limit: Number of results.
            entity_type: Only entities of this type or subtype (000 §6.4).
            accept: Says of each hit whether it belongs into the result.

        Raises:
            InvalidField: `limit` is out of bounds.
        """
        if not 1 <= limit <= MAX_TOP_K:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {MAX_TOP_K}")
        result = await self._retriever.search(
            SearchRequest(
                query=query,
                user_id=user_id,
                top_k=limit,
                kinds=(HitKind.ENTITY,),
                entity_type=entity_type,
                now=self._now(),
            )
        )
        async with self._record.reading(user_id=user_id) as unit:
            return await unit.entities.get([hit.id for hit in result.hits if accept(hit)])

    async def get_entity_by_value(self, entity_value: str, *, user_id: str) -> Entity | None:
        """The entity with this name or alias; width, case and script are ignored (000 §5.4)."""
        async with self._record.reading(user_id=user_id) as unit:
            return await unit.entities.get_by_value(entity_value)

    async def update_entity_mention(self, entity_id: str, *, user_id: str) -> bool:
        """Counts a mention at the present time; False where there is no such entity (000 §5.4)."""
        async with self._record.writing(user_id=user_id) as unit:
            exists = await unit.entities.update_mention(entity_id, at=self._now())
            await unit.commit()
        return exists

    async def store_relation(self, relation: EntityRelation, *, user_id: str) -> bool:
        """Stores a relation; False, with a warning in the log, where the store is down (000 §5.4, §9.1).

        Raises:
            InvalidField: It belongs to another user, or one of its ends is not an entity of this user.
        """
        try:
            async with self._record.writing(user_id=user_id) as unit:
                await unit.relations.store([relation])
                await unit.commit()
        except StoreUnavailable as error:
            _log.warning("relation_skipped", component=error.component, error=error.message)
            return False
        return True

    async def get_related_entities(self, entity_id: str, *, user_id: str) -> list[str]:
        """Ids of the entities that have a relation with this one, in either direction (000 §5.4)."""
        async with self._record.reading(user_id=user_id) as unit:
            return [*await unit.relations.related(entity_id)]

    async def store_session_context(self, session_id: str, context: SessionContext, *, user_id: str) -> bool:
        """Replaces the context of a session; its turns stay (000 §5.4).

        Raises:
            InvalidField: It is the context of another session or user.
        """
        if context.session_id != session_id:
            raise InvalidField(
                f"the context belongs to session {context.session_id}", field="context.session_id", allowed=session_id
            )
        await self._sessions.store_context(context, user_id=user_id)
        return True

    async def get_session_context(self, session_id: str, *, user_id: str) -> SessionContext | None:
        """The context of a session; None where the session is unknown or has expired (000 §5.4)."""
        session = await self._sessions.load(session_id, user_id=user_id)
        context = session.context
        empty = SessionContext(
            session_id=session_id, user_id=user_id, started_at=context.started_at, last_activity=context.started_at
        )
        return None if context == empty and not session.turns else context

    async def add_entity_to_session(self, session_id: str, entity_id: str, *, user_id: str) -> bool:
        """Makes an entity the one that the session mentioned last (000 §5.4)."""
        await self._sessions.append(session_id, user_id=user_id, turns=(), mentioned=[entity_id])
        return True

    async def set_last_referred_entity(self, session_id: str, entity_id: str, *, user_id: str) -> bool:
        """Makes an entity the one that the session referred to last (000 §5.4)."""
        await self._sessions.append(session_id, user_id=user_id, turns=(), referred=entity_id)
        return True
