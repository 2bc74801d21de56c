"""000 §7.1's `EntityMemoryService`, method by method, with its hooks for a chat backend (§8)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

import structlog

from ..answering.forgetting import forget_reply
from ..answering.replies import Kind, asks_memory, kind_of, leaves_memory_out, phrases_of, reply_to
from ..entities.editor import EntityEditor
from ..entities.entity_storage import EntityStorage
from ..entities.lookup import find_by_name, get_entity
from ..entities.seeding import names_seed, preload
from ..language.phrases import phrases_for
from ..ports.models.language import Extractor, Resolver
from ..ports.services import Retriever, UseCounter
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.sessions import SessionStore
from ..values.base import Scalar, utc_now
from ..values.entities import Entity, EntityType
from ..values.errors import InvalidField, StoreUnavailable, Unavailable
from ..values.evidence import EVIDENCE_BOUNDS, EvidenceBounds
from ..values.governance.changes import ItemKind
from ..values.hits import CosineBounds, Hit, HitKind, SearchRequest
from ..values.understanding.dialogue import Turn
from ..values.understanding.extractions import Extraction
from ..values.understanding.mentions import EntitySubtype
from ..values.understanding.readings import Intent
from ..values.understanding.resolutions import CoreferenceResult, ResolutionRequest
from .additions import MemoryAdditions
from .messages import Acknowledged, ChatContext, ChatMessage, Reply, Understood
from .prompt_context import context_lines, document_lines, is_related, memory_lines, prompt_memories
from .reader import MessageReader, log_degraded

_log = structlog.get_logger(__name__)
MAX_ENTITIES = 100
DEFAULT_REFERENTS = 5
"""Default limit of `search_by_coreference` (000 §6.4)."""
_IN_PROMPT = 5


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
        cosine_bounds: From which cosines of the live model on an entity belongs into a prompt; by default none does by
            its cosine alone.
        evidence: From which probability on that a memory answers it belongs into a prompt.
        uses: Counts what prompts held.
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
        uses: UseCounter,
        cosine_bounds: Callable[[], Awaitable[CosineBounds]] | None = None,
        evidence: EvidenceBounds = EVIDENCE_BOUNDS,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.storage = EntityStorage(record=record, sessions=sessions, retriever=retriever, now=now)
        self._record = record
        self._reader = MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=resolver)
        self._additions = additions
        self._editor = EntityEditor(record=record, on_change=lambda user: additions.notify(user_id=user), now=now)
        self._retriever = retriever
        self._cosine_bounds = cosine_bounds
        self._evidence = evidence
        self._uses = uses
        self._now = now

    async def resolve_coreference(self, query: str, session_id: str, user_id: str) -> CoreferenceResult:
        """Resolves the references of a query in its session (000 §7.1); if that fails, returns it unchanged (§9.1)."""
        return (await self.understand(query, user_id, session=session_id)).resolution

    async def understand(
        self, query: str, user_id: str, *, session: str | Sequence[Turn], earlier: Sequence[Turn] = ()
    ) -> Understood:
        """Reads a query and resolves it, and logs its resolutions (000 §9.3).

        Args:
            query: The query.
            user_id: The user.
            session: The id of the session, or turns that the caller has, oldest first. Without the history of a
                session, an earlier resolution cannot be corrected.
            earlier: The turns that the caller has: they count where the session does not end with them.
        """
        now = self._now()
        given = tuple(earlier if isinstance(session, str) else session)
        request = ResolutionRequest(query=query, user_id=user_id, turns=given, now=now)
        try:
            if isinstance(session, str):
                understood = await self._reader.read(
                    query, session_id=session, user_id=user_id, now=now, earlier=earlier
                )
            else:
                understood = await self._reader.understand(request)
        except StoreUnavailable as error:  # the session cannot be read: the query stands for itself (000 §9.1)
            log_degraded("sessions", error)
            understood = await self._reader.understand(request)
            degraded = ("sessions", *understood.resolution.degraded)
            unresolved = understood.resolution.model_copy(update={"degraded": degraded})
            understood = understood.model_copy(update={"resolution": unresolved})
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
        understood = Understood(resolution=unresolved, extraction=extraction)
        if await self._additions.forget(message, understood) is not None:
            return []
        stored = await self._additions.add_turn(message, understood, None)
        return list(stored.learned.entities) if stored.learned else []

    async def get_entity(self, entity_value: str, user_id: str) -> Entity | None:
        """The entity with this name or alias (000 §7.1), also a preloaded one (§10.1)."""
        await self._preload(entity_value, user_id)
        async with self._record.reading(user_id=user_id) as unit:
            return await find_by_name(unit, entity_value)

    async def find_entity(self, id_or_name: str, user_id: str) -> Entity:
        """The entity with this id, name or alias; an archived one is found by its id only.

        Raises:
            NotFound: The user has no such entity.
        """
        await self._preload(id_or_name, user_id)
        async with self._record.reading(user_id=user_id) as unit:
            return await get_entity(unit, id_or_name)

    async def search_entities(
        self, query: str, user_id: str, limit: int = 10, *, entity_type: EntityType | EntitySubtype | None = None
    ) -> list[Entity]:
        """Active entities, best first (000 §7.1); for an empty query all of them, latest mentioned first (§8.2).

        Args:
            query: Names or describes what is searched for.
            user_id: The user.
            limit: Number of results.
            entity_type: Only entities of this type or subtype (000 §6.4).

        Raises:
            InvalidField: `limit` is out of bounds.
        """
        if query.strip():
            await self._preload(query, user_id)
            return await self.storage.search_entities(query, user_id=user_id, limit=limit, entity_type=entity_type)
        async with self._record.reading(user_id=user_id) as unit:
            recent = await unit.entities.recent(limit=limit if entity_type is None else MAX_ENTITIES)
        return [entity for entity in recent if not entity.is_unseen_seed and entity.is_of(entity_type)][:limit]

    async def related_entities(self, query: str, user_id: str, limit: int = _IN_PROMPT) -> list[Entity]:
        """The entities that belong into the prompt of a query (000 §8.4), best first; counts a use of each.

        It names them or shares a term with them, or their cosine reaches the bound of the model; others are left out,
        however few there are.

        Raises:
            InvalidField: `limit` is out of bounds.
        """
        bounds = await self._bounds()
        await self._preload(query, user_id)
        entities = await self.storage.search_entities(
            query, user_id=user_id, limit=limit, accept=lambda hit: is_related(hit, query, bounds)
        )
        self._uses.add(ItemKind.ENTITY, [entity.entity_id for entity in entities], user_id=user_id, at=self._now())
        return entities

    async def _bounds(self) -> CosineBounds:
        return CosineBounds() if self._cosine_bounds is None else await self._cosine_bounds()

    async def _related_texts(
        self, query: str, user_id: str, corpus_ids: tuple[str, ...], *, overview: bool
    ) -> tuple[list[Hit], tuple[str, ...]]:
        """The memories, whose use is counted, and the parts of documents that belong into the prompt of a question.

        Beside them, what was degraded.
        """
        now = self._now()
        request = SearchRequest(
            query=query,
            user_id=user_id,
            kinds=(HitKind.MEMORY,),
            asks=True,
            overview=overview,
            corpus_ids=corpus_ids,
            now=now,
        )
        result = await self._retriever.search(request)
        bounds = await self._bounds()
        chosen = prompt_memories(query, result, evidence=self._evidence, cosines=bounds)
        memories, knowledge = _of_kind(chosen, HitKind.MEMORY), _of_kind(chosen, HitKind.KNOWLEDGE)
        self._uses.add(ItemKind.MEMORY, [hit.id for hit in memories], user_id=user_id, at=now)
        return [*memories, *knowledge], result.degraded

    async def _preload(self, text: str, user_id: str) -> None:
        """Stores the preloaded entities if the text names one, which the user may not have yet (000 §10.1)."""
        if names_seed(text):
            await preload(self._record, user_id, at=self._now())

    async def remember_entity(
        self,
        entity_value: str,
        user_id: str,
        attributes: Mapping[str, Scalar] | None = None,
        *,
        subtype: EntitySubtype | None = None,
    ) -> Entity:
        """Stores an entity at the user's request, with confidence 1 (000 §7.1).

        For an existing entity this counts as a mention, which also restores it from the archive. The same as
        `EntityEditor.remember`, without the change.

        Raises:
            InvalidField: The value is not a name but a stop word, a number, a pronoun, a greeting or a date.
            StoreUnavailable: The entity was not stored.
        """
        entity, _ = await self._editor.remember(entity_value, user_id=user_id, subtype=subtype, attributes=attributes)
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
        return context_lines(await self.related_entities(query, user_id, limit), query)

    async def before_reply(
        self,
        message: str,
        session_id: str,
        user_id: str,
        *,
        earlier: Sequence[Turn] = (),
        corpus_ids: tuple[str, ...] = (),
    ) -> ChatContext:
        """Hook for a chat backend that has received a message: resolves it and finds what its prompt should know.

        That is related entities (000 §8.1) and, where it asks something, the memories that answer, and what does in
        these corpora of the user's app. `earlier` are the caller's turns: they count where the session ends otherwise.
        """
        understood = await self.understand(message, user_id, session=session_id, earlier=earlier)
        resolution, degraded = understood.resolution, understood.degraded
        chat_message = ChatMessage(user_id=user_id, session_id=session_id, message=message, now=self._now())
        bare = ChatContext(
            resolution=resolution,
            extraction=understood.extraction,
            resolved_query=resolution.resolved_query,
            entities=(),
            context="",
            degraded=degraded,
        )
        forgotten = await self._additions.would_forget(chat_message, understood)
        if forgotten is not None or Intent.FORGET in understood.extraction.intents:
            phrases = phrases_for(understood.written(message))
            reply = forget_reply(forgotten, phrases) if forgotten else phrases.forget
            degraded = degraded if forgotten else tuple(dict.fromkeys((*degraded, "learner")))
            told = phrases.forget_context.format(reply=reply)
            return bare.model_copy(update={"context": told, "degraded": degraded, "forgotten": forgotten})
        asked = understood.as_asked(message, now=chat_message.now)
        if leaves_memory_out(asked):
            told = reply_to(asked, phrases_of(asked)) if kind_of(asked) is Kind.PRESENT else ""
            return bare.model_copy(update={"context": told})
        texts: list[Hit] = []
        try:
            entities = await self.related_entities(resolution.resolved_query, user_id)
            if asks_memory(asked):
                texts, missing = await self._related_texts(
                    resolution.resolved_query, user_id, corpus_ids, overview=understood.extraction.overview
                )
                degraded = tuple(dict.fromkeys((*degraded, *missing)))
        except Unavailable as error:
            _log.warning("context_skipped", component=error.component, error=error.message)
            entities, degraded = [], tuple(dict.fromkeys((*degraded, error.component)))
        memories, knowledge = _of_kind(texts, HitKind.MEMORY), _of_kind(texts, HitKind.KNOWLEDGE)
        blocks = [context_lines(entities, message), memory_lines(memories, message), document_lines(knowledge, message)]
        found = {"entities": tuple(entities), "memories": memories, "knowledge": knowledge, "degraded": degraded}
        return bare.model_copy(update={**found, "context": "\n".join(filter(None, blocks))})

    async def after_reply(
        self,
        message: str,
        session_id: str,
        user_id: str,
        *,
        reply: str = "",
        turn_id: str | None = None,
        said_at: datetime | None = None,
        earlier: Sequence[Turn] = (),
        wait: bool = True,
    ) -> Acknowledged:
        """Hook for a chat backend that is about to reply: stores the message and the reply and learns (000 §8.1).

        `said_at` is when the message was said; None for now. `earlier` are the turns that the caller has: they count
        where the session does not end with them. Without `wait` it is stored when this returns, and learned in the
        background. A request to forget is carried out, and neither it nor the reply is stored.

        Raises:
            StoreUnavailable: Neither was stored.
        """
        now = said_at or self._now()
        understood = await self._reader.read(message, session_id=session_id, user_id=user_id, now=now, earlier=earlier)
        chat_message = ChatMessage(
            user_id=user_id, session_id=session_id, message=message, turn_id=turn_id, wait=wait, now=now
        )
        forgotten = await self._additions.forget(chat_message, understood)
        if forgotten is not None:
            return forgotten
        postponed = ("learner",) if Intent.FORGET in understood.extraction.intents else ()
        said = Reply(text=reply, learn=not postponed) if reply else None
        return await self._additions.add_turn(chat_message, understood, said, degraded=postponed)


def _of_kind(hits: Sequence[Hit], kind: HitKind) -> tuple[Hit, ...]:
    return tuple(hit for hit in hits if hit.kind is kind)[:_IN_PROMPT]
