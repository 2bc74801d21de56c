"""What a resolver may know from other sessions: this user's entities (000 §6.4)."""

import structlog

from ..errors import Unavailable
from ..ports.language import Resolver
from ..ports.record import SystemOfRecord
from .resolutions import CoreferenceResult, ResolutionRequest

CANDIDATES = 50
_log = structlog.get_logger("entity_memory")


class LongTermResolver(Resolver):
    """Wraps a resolver and offers it the entities that the user's long-term memory holds, latest mentioned first.

    Preloaded entities that the user never mentioned are not offered: nobody can refer to what was never said. While
    the record is down, references are resolved among the session's own turns, and the result says so.
    """

    def __init__(self, resolver: Resolver, *, record: SystemOfRecord) -> None:
        self._resolver = resolver
        self._record = record

    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """See `Resolver.resolve`."""
        try:
            async with self._record.reading(user_id=request.user_id) as unit:
                recent = await unit.entities.recent(limit=CANDIDATES)
        except Unavailable as error:
            _log.warning("resolution_degraded", component=error.component, error=error.message)
            result = await self._resolver.resolve(request)
            return result.model_copy(update={"degraded": (*result.degraded, "record")})
        mentioned = tuple(entity for entity in recent if entity.mention_count > 0)
        return await self._resolver.resolve(request.model_copy(update={"long_term": mentioned}))
