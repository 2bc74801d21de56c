"""000 §7.1's service, method by method, and its integrations (§8): one entrance to all that concerns entities."""

from collections.abc import Callable, Mapping
from datetime import datetime

import structlog

from ..chat.additions import MemoryAdditions
from ..chat.messages import Acknowledged, ChatMessage, Reply, Understood
from ..chat.reader import MessageReader
from ..coreference.detect.pointing import possible_referents
from ..extraction.rules.junk import junk_kind
from ..ports.language import Extractor, Resolver
from ..ports.record import SystemOfRecord, UnitOfWork
from ..ports.services import Retriever
from ..ports.sessions import SessionStore
from ..values.base import Scalar, Value, utc_now
from ..values.entities import Entity, EntitySource, EntityStatus
from ..values.errors import InvalidField, Unavailable
from ..values.ids import derive_id, entity_id
from ..values.mentions import EntitySubtype, Extraction
from ..values.resolutions import CoreferenceResult, ResolutionRequest
from ..values.text import has_han, is_traditional, normalise, to_traditional
from .entity_storage import EntityStorage
from .lookup import find_by_name, follow_merges, is_named, validate_name

_log = structlog.get_logger(__name__)
EVERYTHING = ""
"""The query that means all entities (000 §8.2)."""
LOADED = 100
IN_A_PROMPT = 5
REFERENTS = 5
"""Entities that a reference may mean, where nobody says how many are wanted (000 §6.4)."""


class ChatContext(Value):
    """What a chat backend gets before it answers: the query to go on with, what to tell its model (000 §8.1, §8.4)."""

    resolution: CoreferenceResult
    resolved_query: str
    entities: tuple[Entity, ...]
    context: str
    degraded: tuple[str, ...] = ()


class EntityMemoryService:
    """The one entrance of 000 §7.1; every method is bound to one user.

    A part that cannot answer costs what 000 §9.1 says: a resolution gives the query back as it was, an extraction is
    skipped with an error in the log; only writing down raises.

    Args:
        record: Keeps entities and relations.
        sessions: Keeps what sessions mention.
        extractor: Finds names.
        resolver: Finds what references mean.
        retriever: Searches.
        additions: Writes to the raw log and has it learned.
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
        self._sessions = sessions
        self._reader = MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=resolver)
        self._resolver = resolver
        self._additions = additions
        self._now = now

    async def resolve_coreference(self, query: str, session_id: str, user_id: str) -> CoreferenceResult:
        """Resolves the references of a query in its session (000 §7.1); the query as it was where that fails (§9.1)."""
        result = await self._reader.resolve(query, session_id=session_id, user_id=user_id, now=self._now())
        for resolution in result.resolutions:
            _log.info(
                "entity_resolved",
                query=query[:200],
                resolved=result.resolved_query[:200],
                source=resolution.source.value,
            )
        return result

    async def extract_and_store(
        self, text: str, session_id: str, user_id: str, auto_learn: bool = True
    ) -> list[Entity]:
        """Finds the entities of a text and learns them (000 §7.1); nothing where extraction fails (§9.1).

        Args:
            text: What the user said.
            session_id: Where it was said.
            user_id: Who said it.
            auto_learn: Whether to write it down and learn from it; else entities that are known are returned.

        Raises:
            StoreUnavailable: It could not be written down.
        """
        extraction = await self._reader.extract(text, user_id=user_id)
        mentioned = [mention.entity_id for mention in extraction.mentions if mention.entity_id]
        if not auto_learn:
            async with self._record.reading(user_id=user_id) as unit:
                return await unit.entities.get(list(dict.fromkeys(mentioned)))
        message = ChatMessage(user_id=user_id, session_id=session_id, message=text, wait=True, now=self._now())
        unresolved = CoreferenceResult(original_query=text, resolved_query=text)
        kept = await self._additions.add_turn(message, Understood(resolution=unresolved, extraction=extraction), None)
        return list(kept.learned.entities) if kept.learned else []

    async def get_entity(self, entity_value: str, user_id: str) -> Entity | None:
        """The entity with this name or alias (000 §7.1)."""
        async with self._record.reading(user_id=user_id) as unit:
            return await find_by_name(unit, entity_value)

    async def search_entities(self, query: str, user_id: str, limit: int = 10) -> list[Entity]:
        """Active entities, best first (000 §7.1); all of them, latest mentioned first, where the query is empty (§8.2).

        Raises:
            InvalidField: `limit` is out of bounds.
        """
        if query.strip() != EVERYTHING:
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
        """Keeps an entity because the user says so, as sure as can be (000 §7.1).

        One that is known is mentioned again; one that was archived is there again.

        Raises:
            InvalidField: The value names nothing: a stop word, a number, a pronoun, a greeting or a date.
            StoreUnavailable: It is not kept.
        """
        name = validate_name(entity_value, "entity_value")
        if (junk := junk_kind(name)) is not None:
            raise InvalidField(f"{name!r} names nothing: {junk}", field="entity_value", allowed="a name")
        async with self._record.writing(user_id=user_id) as unit:
            found = await unit.entities.get_by_value(name)
            known = await follow_merges(unit, found) if found else None
            again = known is not None and is_named(known, name)
            entity = self._again(known) if known and again else await self._new(unit, user_id, name)
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
        self, coreference_word: str, session_id: str, user_id: str, limit: int = REFERENTS
    ) -> list[Entity]:
        """The entities that a referring expression may stand for in its session, best first (000 §6.4, §7.1).

        Only what long-term memory knows: a thing that was described but never named is none of them.

        Raises:
            InvalidField: `limit` is out of bounds.
            Unavailable: The session, the resolver or the record cannot answer.
        """
        if not 1 <= limit <= LOADED:
            raise InvalidField(f"limit {limit} is out of bounds", field="limit", allowed=f"1 to {LOADED}")
        session = await self._sessions.load(session_id, user_id=user_id)
        request = ResolutionRequest.in_session(session, coreference_word, now=self._now())
        found = await possible_referents(coreference_word, request, resolver=self._resolver)
        async with self._record.reading(user_id=user_id) as unit:
            known = await unit.entities.get([one.entity_id for one in found if one.entity_id])
            by_id = {entity.entity_id: entity for entity in known}
            owners = [by_id.get(one.entity_id or "") or await find_by_name(unit, one.text) for one in found]
        current = {entity.entity_id: entity for entity in owners if entity and entity.is_current}
        return list(current.values())[:limit]

    async def resolve(self, query: str, session_id: str, user_id: str) -> CoreferenceResult:
        """000 §2.2's short name of `resolve_coreference`."""
        return await self.resolve_coreference(query, session_id, user_id)

    async def store(self, entity: Entity, user_id: str) -> bool:
        """Keeps an entity as it is given (000 §2.2, §5.4)."""
        return await self.storage.store_entity(entity, user_id=user_id)

    async def extract(self, text: str, user_id: str) -> Extraction:
        """What a text mentions and asks to remember (000 §2.2); nothing is kept."""
        return await self._reader.extract(text, user_id=user_id)

    async def load_long_term_entities(self, user_id: str, limit: int = LOADED) -> dict[str, dict[str, str]]:
        """All entities by name, as an agent's own conversation context takes them (000 §8.2)."""
        entities = await self.search_entities(EVERYTHING, user_id, limit)
        return {one.entity_value: {"entity_id": one.entity_id, "type": "long_term"} for one in entities}

    async def context_block(self, query: str, user_id: str, limit: int = IN_A_PROMPT) -> str:
        """The lines about related entities for a router's system prompt (000 §8.4); empty where there are none."""
        return context_lines(await self.search_entities(query, user_id, limit), query)

    async def before_reply(self, message: str, session_id: str, user_id: str) -> ChatContext:
        """For a chat backend that has just received a message: resolves it and says what it is about (000 §8.1)."""
        resolution = await self.resolve_coreference(message, session_id, user_id)
        degraded = resolution.degraded
        try:
            entities = await self.search_entities(resolution.resolved_query, user_id, IN_A_PROMPT)
        except Unavailable as error:
            _log.warning("context_skipped", component=error.component, error=error.message)
            entities, degraded = [], tuple(dict.fromkeys((*degraded, error.component)))
        return ChatContext(
            resolution=resolution,
            resolved_query=resolution.resolved_query,
            entities=tuple(entities),
            context=context_lines(entities, message),
            degraded=degraded,
        )

    async def after_reply(
        self, message: str, session_id: str, user_id: str, *, reply: str = "", turn_id: str | None = None
    ) -> Acknowledged:
        """For a chat backend that is about to answer: writes the message and the reply down and learns (000 §8.1).

        Raises:
            StoreUnavailable: Neither is written down.
        """
        now = self._now()
        said = ChatMessage(user_id=user_id, session_id=session_id, message=message, turn_id=turn_id, wait=True, now=now)
        understood = await self._reader.read(message, session_id=session_id, user_id=user_id, now=now)
        return await self._additions.add_turn(said, understood, Reply(text=reply) if reply else None)

    def _again(self, entity: Entity) -> Entity:
        at = self._now()
        return entity.model_copy(
            update={
                "mention_count": entity.mention_count + 1,
                "first_mentioned": min(entity.first_mentioned, at) if entity.mention_count else at,
                "last_mentioned": max(entity.last_mentioned, at) if entity.mention_count else at,
                "status": EntityStatus.ACTIVE,
                "review_reason": None,
                "version": entity.version + 1,
            }
        )

    async def _new(self, unit: UnitOfWork, user_id: str, name: str) -> Entity:
        id_ = entity_id(user_id, name)
        if await unit.entities.get([id_]):  # it was made from this name, and has lost it
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
    """One line an entity with when it was mentioned last (000 §8.4), in the query's script; Traditional in doubt."""
    if not entities:
        return ""
    if has_han(query):
        simplified = not is_traditional(query) and to_traditional(query) != query
        head, last = ("用户提到的相关实体：" if simplified else "用戶提到的相關實體："), "最近提及"
    else:
        head, last = "Entities that the user mentioned:", "last mentioned"
    lines = [f"- {one.entity_value} ({last}: {one.last_mentioned:%Y-%m-%d %H:%M})" for one in entities]
    return "\n".join([head, *lines])
