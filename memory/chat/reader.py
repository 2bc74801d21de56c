"""Understands a message in its session: reads the record once, extracts with the reader, resolves (DESIGN §3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from ..coreference.context import offered_entities, reading_context
from ..coreference.time_windows import TimeWindow, find_window
from ..extraction.recognition import link_mentions, recognise
from ..ports.language import Extractor, Resolver
from ..ports.record import SystemOfRecord, UnitOfWork
from ..ports.sessions import SessionStore
from ..values.dialogue import Session
from ..values.entities import Entity
from ..values.errors import StoreUnavailable, Unavailable
from ..values.extractions import Extraction
from ..values.resolutions import Alternative, CoreferenceResolution, CoreferenceResult, ResolutionRequest
from ..values.text import fold_lower, has_han
from .messages import Understood

RECENT = 50
"""Latest entities that long-term memory offers as antecedents."""
RECALLED = 500
"""Latest entities and memories that are searched where a message names a past time (上週提到的)."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Known:
    """What the record says about a message: entities that it names, and those that it may refer to."""

    named: tuple[Entity, ...] = ()
    offered: tuple[Entity, ...] = ()
    degraded: tuple[str, ...] = ()


class MessageReader:
    """Reads messages in their sessions; a component that is down is named in `degraded` (000 §9.1).

    Without the resolver or the trained reader a query stays as it is, without the extractor nothing is marked, and
    while the record is unavailable names that only the user knows are not found.

    Args:
        sessions: Stores the turns of sessions.
        record: Stores the user's entities.
        extractor: Reads messages in their context.
        resolver: Makes resolutions of what was read.
    """

    def __init__(
        self, *, sessions: SessionStore, record: SystemOfRecord, extractor: Extractor, resolver: Resolver
    ) -> None:
        self._sessions = sessions
        self._record = record
        self._extractor = extractor
        self._resolver = resolver

    async def read(self, message: str, *, session_id: str, user_id: str, now: datetime) -> Understood:
        """Extracts from a message and resolves it.

        Raises:
            StoreUnavailable: The session cannot be read.
            Overloaded: The reader's queue is full.
        """
        session = await self._sessions.load(session_id, user_id=user_id)
        return await self._read(message, session, now=now)

    async def resolve(self, query: str, *, session_id: str, user_id: str, now: datetime) -> CoreferenceResult:
        """Resolves the references of a query in its session.

        Raises:
            StoreUnavailable: The session cannot be read.
            Overloaded: The reader's queue is full.
        """
        return (await self.read(query, session_id=session_id, user_id=user_id, now=now)).resolution

    async def possible_referents(self, word: str, *, session_id: str, user_id: str, now: datetime) -> list[Alternative]:
        """The distinct antecedents that a referring expression may have, best first; empty where it does not refer.

        Args:
            word: Any expression: 它, 這個系統, 上週提到的, "the latter"; it is read inside a question.
            session_id: Its session.
            user_id: The user.
            now: When it is asked.

        Raises:
            Unavailable: The session, the extractor or the resolver.
            Overloaded: The reader's queue is full.
        """
        expression = word.strip()
        query = f"{expression}怎麼樣？" if has_han(expression) else f"What about {expression}?"
        session = await self._sessions.load(session_id, user_id=user_id)
        known = await self._known(query, user_id=user_id, now=now)
        extraction = await self._extract(query, session, known)
        result = await self._resolver.resolve(_request(query, session, known, now=now), extraction)
        options: dict[str, Alternative] = {}
        for resolution in (*result.resolutions, *result.unresolved):
            for option in (*_resolved(resolution), *resolution.alternatives):
                options.setdefault(option.entity_id or option.text, option)
        return list(options.values())

    async def extract(self, text: str, *, user_id: str) -> Extraction:
        """Finds the mentions and intents of a text by itself; long-term mentions carry the id of their entity.

        Raises:
            Overloaded: The reader's queue is full.
        """
        try:
            try:
                [extraction] = await recognise([text], user_id=user_id, record=self._record, extractor=self._extractor)
            except StoreUnavailable as error:
                _log.warning("chat_degraded", part="record", component=error.component, error=error.message)
                [extraction] = await self._extractor.extract([text])
                return extraction.model_copy(update={"degraded": (*extraction.degraded, "record")})
        except Unavailable as error:
            return _not_extracted(error)
        return extraction

    async def _read(self, message: str, session: Session, *, now: datetime) -> Understood:
        known = await self._known(message, user_id=session.context.user_id, now=now)
        try:
            extraction = await self._extract(message, session, known)
        except Unavailable as error:
            extraction = _not_extracted(error)
        request = _request(message, session, known, now=now)
        try:
            resolution = await self._resolver.resolve(request, extraction)
        except Unavailable as error:
            _log.warning("chat_degraded", part="resolver", component=error.component, error=error.message)
            degraded = (*extraction.degraded, "resolver")
            resolution = CoreferenceResult(original_query=message, resolved_query=message, degraded=degraded)
        return Understood(resolution=resolution, extraction=extraction, turns=session.turns)

    async def _known(self, message: str, *, user_id: str, now: datetime) -> _Known:
        """Reads the record, once for each message."""
        window = find_window(fold_lower(message), now)
        try:
            async with self._record.reading(user_id=user_id) as unit:
                named = await unit.entities.found_in(message)
                recent = await unit.entities.recent(limit=RECALLED if window else RECENT)
                spoken_of = await _spoken_of(unit, window) if window else set()
        except StoreUnavailable as error:
            _log.warning("chat_degraded", part="record", component=error.component, error=error.message)
            return _Known(degraded=("record",))
        offered = offered_entities(recent, window=window, spoken_of=spoken_of)
        return _Known(tuple(named), offered[:RECENT])

    async def _extract(self, message: str, session: Session, known: _Known) -> Extraction:
        names = [name for entity in known.named for name in entity.names]
        context = reading_context(session.turns, known.offered)
        [extraction] = await self._extractor.extract([message], known=[names], contexts=[context])
        linked = link_mentions(extraction, known.named, user_id=session.context.user_id)
        return linked.model_copy(update={"degraded": (*linked.degraded, *known.degraded)})


async def _spoken_of(unit: UnitOfWork, window: TimeWindow) -> set[str]:
    """Ids of the entities that memories of this time mention."""
    memories = await unit.memories.recent(limit=RECALLED)
    return {entity_id for memory in memories if window.holds(memory.created_at) for entity_id in memory.entity_ids}


def _request(query: str, session: Session, known: _Known, *, now: datetime) -> ResolutionRequest:
    entities = {entity.entity_id: entity for entity in (*known.named, *known.offered)}
    request = ResolutionRequest.in_session(session, query, now=now)
    return request.model_copy(update={"long_term": tuple(entities.values())})


def _not_extracted(error: Unavailable) -> Extraction:
    _log.error("entity_extraction_failed", component=error.component, error=error.message, exc_info=True)
    return Extraction(degraded=("extractor",))


def _resolved(resolution: CoreferenceResolution) -> Sequence[Alternative]:
    if resolution.resolved_text == resolution.original_text:
        return ()
    found = Alternative(
        text=resolution.resolved_text,
        entity_id=resolution.entity_id,
        source=resolution.source,
        score=resolution.confidence,
    )
    return (found,)
