"""Adds the user's entities from other sessions to a resolution request, with the times of their mentions (000 §6.4)."""

import asyncio
from collections.abc import Sequence

import structlog
from typing_extensions import override

from ..ports.language import Resolver
from ..ports.record import SystemOfRecord, UnitOfWork
from ..values.entities import Entity
from ..values.errors import Unavailable
from ..values.resolutions import CoreferenceResult, Occasion, ResolutionRequest
from ..values.text import fold_lower
from .detect.detection import find_references
from .detect.time_windows import TimeWindow, find_window

CANDIDATES = 50
RECALLED = 500
"""Entities searched where a query names a past time."""
MEMORIES = 500
"""Latest memories searched for mentions of the entities."""
_log = structlog.get_logger(__name__)


class LongTermResolver(Resolver):
    """Wraps a resolver and passes it the entities of the user's long-term memory, latest mention first.

    Preloaded entities that the user never mentioned are left out. For a query that refers to an earlier session
    (上週提到的) the memories that mention the entities are passed too. While the record is down, references are
    resolved within the session, and the result is marked degraded.
    """

    def __init__(self, resolver: Resolver, *, record: SystemOfRecord) -> None:
        self._resolver = resolver
        self._record = record

    @override
    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        across, window = await asyncio.to_thread(_cross_session_window, request)
        try:
            async with self._record.reading(user_id=request.user_id) as unit:
                known = await unit.entities.recent(limit=RECALLED if window else CANDIDATES)
                occasions = await _occasions(unit, known) if across else ()
        except Unavailable as error:
            _log.warning("resolution_degraded", component=error.component, error=error.message)
            result = await self._resolver.resolve(request)
            return result.model_copy(update={"degraded": (*result.degraded, "record")})
        mentioned = [entity for entity in known if entity.mention_count > 0]
        if window:
            mentioned = [*mentioned[:CANDIDATES], *_mentioned_during(mentioned[CANDIDATES:], occasions, window)]
        offered = {"long_term": tuple(mentioned), "occasions": occasions}
        return await self._resolver.resolve(request.model_copy(update=offered))


def _cross_session_window(request: ResolutionRequest) -> tuple[bool, TimeWindow | None]:
    """Whether a query refers to earlier sessions, and the time that it names."""
    across = [reference for reference in find_references(request.query) if reference.across]
    windows = (find_window(fold_lower(reference.text), request.now) for reference in across)
    return bool(across), next((window for window in windows if window), None)


async def _occasions(unit: UnitOfWork, entities: Sequence[Entity]) -> tuple[Occasion, ...]:
    known = {entity.entity_id for entity in entities}
    return tuple(
        Occasion(entity_id=entity_id, at=memory.created_at, text=memory.text)
        for memory in await unit.memories.recent(limit=MEMORIES)
        for entity_id in memory.entity_ids
        if entity_id in known
    )


def _mentioned_during(entities: Sequence[Entity], occasions: Sequence[Occasion], window: TimeWindow) -> list[Entity]:
    """The entities mentioned during a time window, at most `CANDIDATES`."""
    spoken = {occasion.entity_id for occasion in occasions if window.holds(occasion.at)}
    found = [
        entity
        for entity in entities
        if entity.entity_id in spoken or window.holds(entity.first_mentioned) or window.holds(entity.last_mentioned)
    ]
    return found[:CANDIDATES]
