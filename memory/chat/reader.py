"""Understands a message in its session: reads the record once, extracts with the reader, resolves (DESIGN §3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from ..coreference.context import offered_entities, reading_context
from ..entities.lookup import follow_merges
from ..extraction.recognition import link_mentions, recognise
from ..language.phrases import leaves_script_open
from ..language.time_windows import TimeWindow, find_window
from ..ports.models.language import Extractor, Resolver
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.sessions import SessionStore
from ..values.entities import Entity
from ..values.errors import StoreUnavailable, Unavailable, raise_if_busy
from ..values.governance.changes import ChangeKind
from ..values.text import fold_lower, has_han
from ..values.understanding.dialogue import Role, Turn
from ..values.understanding.extractions import Extraction
from ..values.understanding.resolutions import Alternative, CoreferenceResolution, CoreferenceResult, ResolutionRequest
from .history import has_same_end
from .messages import Understood, written_in

RECENT = 50
"""Latest entities that long-term memory offers as antecedents."""
RECALLED = 500
"""Latest entities and memories that are searched where a message names a past time (上週提到的)."""
WRITTEN = 20
"""Latest memories that tell which Chinese script the user writes."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Known:
    """What the record says about a message: entities that it names or may refer to, and what was written before."""

    named: tuple[Entity, ...] = ()
    offered: tuple[Entity, ...] = ()
    replaced: Mapping[str, str | None] = field(default_factory=dict)
    written: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()

    def added_to(self, request: ResolutionRequest) -> ResolutionRequest:
        """The request with these entities as its long-term memory, and turns that mention no entity that is gone."""
        entities = {entity.entity_id: entity for entity in (*self.named, *self.offered)}
        turns = tuple(map(self._with_current_ids, request.turns)) if self.replaced else request.turns
        return request.model_copy(update={"long_term": tuple(entities.values()), "turns": turns})

    def _with_current_ids(self, turn: Turn) -> Turn:
        if not turn.mentions:
            return turn
        mentions = tuple(
            mention.model_copy(update={"entity_id": self.replaced[mention.entity_id]})
            if mention.entity_id is not None and mention.entity_id in self.replaced
            else mention
            for mention in turn.mentions
        )
        return turn.model_copy(update={"mentions": mentions})


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

    async def read(
        self, message: str, *, session_id: str, user_id: str, now: datetime, earlier: Sequence[Turn] = ()
    ) -> Understood:
        """Extracts from a message and resolves it.

        Args:
            message: What was said.
            session_id: Its session.
            user_id: The user.
            now: When it was said.
            earlier: The turns before it as the caller has them: they count where the session does not end with them.

        Raises:
            StoreUnavailable: The session cannot be read.
            Overloaded: The reader's queue is full.
        """
        session = await self._sessions.load(session_id, user_id=user_id)
        request = ResolutionRequest.in_session(session, message, now=now)
        if earlier and not has_same_end(request.turns, earlier, message=message):
            request = request.model_copy(update={"turns": tuple(earlier)})
        understood = await self.understand(request)
        return understood.model_copy(update={"to_forget": session.context.to_forget})

    async def understand(self, request: ResolutionRequest) -> Understood:
        """Extracts from the query of a request and resolves it, in the turns of the request.

        Args:
            request: Without long-term memory, which is added here.

        Raises:
            Overloaded: The reader's queue is full.
        """
        known = await self._known(request)
        request = known.added_to(request)
        try:
            extraction = await self._extract(request, known)
        except Unavailable as error:
            extraction = _not_extracted(error)
        try:
            resolution = await self._resolver.resolve(request, extraction)
        except Unavailable as error:
            log_degraded("resolver", error)
            degraded = (*extraction.degraded, "resolver")
            resolution = CoreferenceResult(
                original_query=request.query, resolved_query=request.query, degraded=degraded
            )
        return Understood(resolution=resolution, extraction=extraction, turns=request.turns, elsewhere=known.written)

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
        request = ResolutionRequest.in_session(session, query, now=now)
        known = await self._known(request)
        request = known.added_to(request)
        result = await self._resolver.resolve(request, await self._extract(request, known))
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
                log_degraded("record", error)
                [extraction] = await self._extractor.extract([text])
                return extraction.model_copy(update={"degraded": (*extraction.degraded, "record")})
        except Unavailable as error:
            return _not_extracted(error)
        return extraction

    async def _known(self, request: ResolutionRequest) -> _Known:
        """Reads the record, once for each message."""
        window = find_window(fold_lower(request.query), request.now)
        try:
            async with self._record.reading(user_id=request.user_id) as unit:
                named = await unit.entities.found_in(request.query)
                recent = await unit.entities.recent(limit=RECALLED if window else RECENT)
                spoken_of = await _spoken_of(unit, window) if window else set()
                replaced = await _replaced_ids(unit, request.turns)
                written = await _written_elsewhere(unit, request)
        except StoreUnavailable as error:
            log_degraded("record", error)
            return _Known(degraded=("record",))
        offered = offered_entities(recent, window=window, spoken_of=spoken_of)
        return _Known(tuple(named), offered[:RECENT], replaced, written)

    async def _extract(self, request: ResolutionRequest, known: _Known) -> Extraction:
        names = [name for entity in known.named for name in entity.names]
        context = reading_context(request.turns, known.offered)
        [extraction] = await self._extractor.extract([request.query], known=[names], contexts=[context])
        linked = link_mentions(extraction, known.named, user_id=request.user_id)
        return linked.model_copy(update={"degraded": (*linked.degraded, *known.degraded)})


async def _replaced_ids(unit: UnitOfWork, turns: Sequence[Turn]) -> dict[str, str | None]:
    """For entities of the turns that are gone, what each was merged into; None where it was archived or deleted.

    An entity that is not stored yet will be learned, unless it was deleted.
    """
    mentions = (mention for turn in turns for mention in turn.mentions or ())
    ids = list(dict.fromkeys(mention.entity_id for mention in mentions if mention.entity_id))
    stored = {entity.entity_id: entity for entity in await unit.entities.get(ids)}
    replaced: dict[str, str | None] = {}
    for id_ in ids:
        entity = stored.get(id_)
        if entity is not None and not entity.is_current:
            current = await follow_merges(unit, entity)
            replaced[id_] = current.entity_id if current.is_current else None
        elif entity is None and await unit.changes.list(subject=id_, kind=ChangeKind.DELETE, limit=1):
            replaced[id_] = None
    return replaced


async def _written_elsewhere(unit: UnitOfWork, request: ResolutionRequest) -> tuple[str, ...]:
    """What the user wrote last, where the message and its session leave open which Chinese script the user writes."""
    if not leaves_script_open([request.query, *written_in(request.turns)]):
        return ()
    memories = await unit.memories.recent(limit=WRITTEN)
    return tuple(memory.text for memory in memories if memory.role is Role.USER)


async def _spoken_of(unit: UnitOfWork, window: TimeWindow) -> set[str]:
    """Ids of the entities that memories of this time mention."""
    memories = await unit.memories.recent(limit=RECALLED)
    return {entity_id for memory in memories if window.holds(memory.created_at) for entity_id in memory.entity_ids}


def log_degraded(part: str, error: Unavailable) -> None:
    """Logs that a turn goes on without a part.

    Raises:
        StoreBusy: The store is only busy: the turn is refused.
    """
    raise_if_busy(error)
    _log.warning("chat_degraded", part=part, component=error.component, error=error.message)


def _not_extracted(error: Unavailable) -> Extraction:
    raise_if_busy(error)
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
