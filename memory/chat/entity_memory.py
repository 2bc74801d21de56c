"""000 §7.1's `EntityMemoryService`, method by method, with its hooks for a chat backend (§8)."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import structlog

from ..entities.entity_storage import EntityStorage
from ..entities.lookup import find_by_name, follow_merges, is_named, validate_name
from ..extraction.junk import junk_kind
from ..ports.language import Extractor, Resolver
from ..ports.record import SystemOfRecord, UnitOfWork
from ..ports.services import Retriever
from ..ports.sessions import SessionStore
from ..values.base import Scalar, Value, utc_now
from ..values.dialogue import Turn
from ..values.entities import Entity, EntitySource
from ..values.errors import InvalidField, Unavailable
from ..values.extractions import Extraction
from ..values.ids import derive_id, entity_id
from ..values.mentions import EntitySubtype
from ..values.resolutions import CoreferenceResult, ResolutionRequest
from ..values.text import has_han, is_simplified, is_traditional, normalise
from .additions import MemoryAdditions
from .messages import Acknowledged, ChatMessage, Reply, Understood
from .reader import MessageReader

_log = structlog.get_logger(__name__)
MAX_ENTITIES = 100
DEFAULT_REFERENTS = 5
"""Default limit of `search_by_coreference` (000 §6.4)."""
_IN_PROMPT = 5


class ChatContext(Value):
    """For a chat backend before it answers: the resolved query, and lines for its prompt (000 §8.1, §8.4)."""

    resolution: CoreferenceResult
    extraction: Extraction
    resolved_query: str
    entities: tuple[Entity, ...]
    context: str
    degraded: tuple[str, ...] = ()


class EntityMemoryService:
    """Entity memory of 000 §7.1; every method acts for one user.

    While a component is down (000 §9.1), queries are returned unresolved and extraction is skipped with an error in the
    log; only storing raises.

    Args:
        record: Stores entities and relations.
        sessions: Stores the context of sessions.
        extractor: Finds entities.
        resolver: Resolves references.
        retriever: Searches.
        additions: Writes to the raw log, from which the learner learns.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        sessions: SessionStore,
        extractor: Extractor,
        resolver: Resolver,
        retriever: Retriever,
        additions: MemoryAdditions,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.storage = EntityStorage(record=record, sessions=sessions, retriever=retriever, now=now)
        self._record = record
        self._reader = MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=resolver)
        self._additions = additions
        self._now = now

    async def resolve_coreference(self, query: str, session_id: str, user_id: str) -> CoreferenceResult:
        """Resolves the references of a query in its session (000 §7.1); if that fails, returns it unchanged (§9.1)."""
        return (await self.understand(query, user_id, session=session_id)).resolution

    async def understand(self, query: str, user_id: str, *, session: str | Sequence[Turn]) -> Understood:
        """Reads a query and resolves it, and logs its resolutions (000 §9.3).

        Args:
            query: The query.
            user_id: The user.
            session: The id of the session, or turns that the caller has, oldest first. Without the history of a
                session, an earlier resolution cannot be corrected.
        """
        if isinstance(session, str):
            understood = await self._reader.read(query, session_id=session, user_id=user_id, now=self._now())
        else:
            request = ResolutionRequest(query=query, user_id=user_id, turns=tuple(session), now=self._now())
            understood = await self._reader.understand(request)
        for resolution in understood.resolution.resolutions:
            _log.info(
                "entity_resolved",  # no texts: a log outlives what is erased
                characters=len(query),
                start=resolution.start,
                entity_id=resolution.entity_id,
                source=resolution.source.value,
            )
        return understood

    async def extract_and_store(
        self, text: str, session_id: str, user_id: str, auto_learn: bool = True
    ) -> list[Entity]:
        """Finds the entities of a text and learns them (000 §7.1); returns none where extraction fails (§9.1).

        Args:
            text: The user's message.
            session_id: Its session.
            user_id: The user.
            auto_learn: Whether to store the text and learn from it; if not, known entities are returned.

        Raises:
            StoreUnavailable: The text was not stored.
        """
        extraction = await self._reader.extract(text, user_id=user_id)
        mentioned = [mention.entity_id for mention in extraction.mentions if mention.entity_id]
        if not auto_learn:
            async with self._record.reading(user_id=user_id) as unit:
                return await unit.entities.get(list(dict.fromkeys(mentioned)))
        message = ChatMessage(user_id=user_id, session_id=session_id, message=text, wait=True, now=self._now())
        unresolved = CoreferenceResult(original_query=text, resolved_query=text)
        stored = await self._additions.add_turn(message, Understood(resolution=unresolved, extraction=extraction), None)
        return list(stored.learned.entities) if stored.learned else []

    async def get_entity(self, entity_value: str, user_id: str) -> Entity | None:
        """The entity with this name or alias (000 §7.1)."""
        async with self._record.reading(user_id=user_id) as unit:
            return await find_by_name(unit, entity_value)

    async def search_entities(self, query: str, user_id: str, limit: int = 10) -> list[Entity]:
        """Active entities, best first (000 §7.1); for an empty query all of them, latest mentioned first (§8.2).

        Raises:
            InvalidField: `limit` is out of bounds.
        """
        if query.strip():
            return await self.storage.search_entities(query, user_id=user_id, limit=limit)
        async with self._record.reading(user_id=user_id) as unit:
            recent = await unit.entities.recent(limit=limit)
        return [entity for entity in recent if entity.mention_count > 0]

    async def remember_entity(
        self,
        entity_value: str,
        user_id: str,
        attributes: Mapping[str, Scalar] | None = None,
        *,
        subtype: EntitySubtype | None = None,
    ) -> Entity:
        """Stores an entity at the user's request, with confidence 1 (000 §7.1).

        For an existing entity this counts as a mention, which also restores it from the archive.

        Raises:
            InvalidField: The value is not a name but a stop word, a number, a pronoun, a greeting or a date.
            StoreUnavailable: The entity was not stored.
        """
        name = validate_name(entity_value, "entity_value")
        if (junk := junk_kind(name)) is not None:
            raise InvalidField(f"{name!r} is not a name: {junk}", field="entity_value", allowed="the name of an entity")
        async with self._record.writing(user_id=user_id) as unit:
            found = await unit.entities.get_by_value(name)
            known = await follow_merges(unit, found) if found else None
            if known is not None and is_named(known, name):
                entity = known.mentioned_again(self._now())
            else:
                entity = await self._create(unit, user_id, name)
            entity = entity.model_copy(
                update={
                    "confidence": 1.0,
                    "subtype": subtype or entity.subtype,
                    "attributes": {**entity.attributes, **(attributes or {})},
                }
            )
            await unit.entities.save([entity])
            await unit.commit()
        self._additions.notify(user_id=user_id)
        return entity

    async def search_by_coreference(
        self, coreference_word: str, session_id: str, user_id: str, limit: int = DEFAULT_REFERENTS
    ) -> list[Entity]:
        """The entities that a referring expression may mean in its session, best first (000 §6.4, §7.1).

        Only stored entities are returned: descriptions without a name are not.

        Raises:
            InvalidField: `limit` is out of bounds.
            Unavailable: The session store, the extractor, the resolver or the record is down.
        """
        if not 1 <= limit <= MAX_ENTITIES:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {MAX_ENTITIES}")
        candidates = await self._reader.possible_referents(
            coreference_word, session_id=session_id, user_id=user_id, now=self._now()
        )
        async with self._record.reading(user_id=user_id) as unit:
            known = await unit.entities.get([candidate.entity_id for candidate in candidates if candidate.entity_id])
            by_id = {entity.entity_id: entity for entity in known}
            entities = [
                by_id.get(candidate.entity_id or "") or await find_by_name(unit, candidate.text)
                for candidate in candidates
            ]
        current = {entity.entity_id: entity for entity in entities if entity and entity.is_current}
        return list(current.values())[:limit]

    async def resolve(self, query: str, session_id: str, user_id: str) -> CoreferenceResult:
        """Alias of `resolve_coreference` (000 §2.2)."""
        return await self.resolve_coreference(query, session_id, user_id)

    async def store(self, entity: Entity, user_id: str) -> bool:
        """Stores an entity unchanged (000 §2.2, §5.4)."""
        return await self.storage.store_entity(entity, user_id=user_id)

    async def extract(self, text: str, user_id: str) -> Extraction:
        """The entities and requests to remember in a text (000 §2.2); stores nothing."""
        return await self._reader.extract(text, user_id=user_id)

    async def load_long_term_entities(self, user_id: str, limit: int = MAX_ENTITIES) -> dict[str, dict[str, str]]:
        """All entities by name, in the form of an agent's conversation context (000 §8.2)."""
        entities = await self.search_entities("", user_id, limit)
        return {entity.entity_value: {"entity_id": entity.entity_id, "type": "long_term"} for entity in entities}

    async def context_block(self, query: str, user_id: str, limit: int = _IN_PROMPT) -> str:
        """Lines about related entities for a router's system prompt (000 §8.4); empty where there are none."""
        return context_lines(await self.search_entities(query, user_id, limit), query)

    async def before_reply(self, message: str, session_id: str, user_id: str) -> ChatContext:
        """Hook for a chat backend that has received a message: resolves it and finds related entities (000 §8.1)."""
        understood = await self.understand(message, user_id, session=session_id)
        resolution, degraded = understood.resolution, understood.degraded
        try:
            entities = await self.search_entities(resolution.resolved_query, user_id, _IN_PROMPT)
        except Unavailable as error:
            _log.warning("context_skipped", component=error.component, error=error.message)
            entities, degraded = [], tuple(dict.fromkeys((*degraded, error.component)))
        return ChatContext(
            resolution=resolution,
            extraction=understood.extraction,
            resolved_query=resolution.resolved_query,
            entities=tuple(entities),
            context=context_lines(entities, message),
            degraded=degraded,
        )

    async def after_reply(
        self, message: str, session_id: str, user_id: str, *, reply: str = "", turn_id: str | None = None
    ) -> Acknowledged:
        """Hook for a chat backend that is about to reply: stores the message and the reply and learns (000 §8.1).

        Raises:
            StoreUnavailable: Neither was stored.
        """
        now = self._now()
        understood = await self._reader.read(message, session_id=session_id, user_id=user_id, now=now)
        chat_message = ChatMessage(
            user_id=user_id, session_id=session_id, message=message, turn_id=turn_id, wait=True, now=now
        )
        return await self._additions.add_turn(chat_message, understood, Reply(text=reply) if reply else None)

    async def _create(self, unit: UnitOfWork, user_id: str, name: str) -> Entity:
        id_ = entity_id(user_id, name)
        if await unit.entities.get([id_]):  # an entity created under this name has been renamed since
            id_ = derive_id("entity", user_id, normalise(name), id_)
        at = self._now()
        return Entity(
            entity_id=id_,
            user_id=user_id,
            entity_value=name,
            normalised_value=normalise(name),
            source=EntitySource.USER,
            first_mentioned=at,
            last_mentioned=at,
            mention_count=1,
        )


def context_lines(entities: list[Entity], query: str) -> str:
    """A line for each entity with the time of its last mention, in the query's language and script (000 §8.4).

    Han text that is valid in both scripts counts as Traditional.
    """
    if not entities:
        return ""
    if has_han(query):
        simplified = not is_traditional(query) and is_simplified(query)
        head, last = ("用户提到的相关实体：" if simplified else "用戶提到的相關實體："), "最近提及"
    else:
        head, last = "Entities that the user mentioned:", "last mentioned"
    lines = [f"- {entity.entity_value} ({last}: {entity.last_mentioned:%Y-%m-%d %H:%M})" for entity in entities]
    return "\n".join([head, *lines])
