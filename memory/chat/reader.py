"""Extracts the mentions and resolves the references of a message (DESIGN §3.2)."""

import asyncio
from datetime import datetime

import structlog

from ..extraction.recognition import recognise
from ..ports.language import Extractor, Resolver
from ..ports.record import SystemOfRecord
from ..ports.sessions import SessionStore
from ..values.errors import StoreUnavailable, Unavailable
from ..values.extractions import Extraction
from ..values.resolutions import CoreferenceResult, ResolutionRequest
from ..values.text import normalise
from .messages import Understood

_log = structlog.get_logger(__name__)


class MessageReader:
    """Reads messages in their sessions; a component that is down is named in `degraded` (000 §9.1).

    Without the resolver a query stays as it is, without the extractor nothing is marked, and while the record is
    unavailable names that only the user knows are not found.

    Args:
        sessions: Stores the turns of sessions.
        record: Stores the user's entities.
        extractor: Finds mentions.
        resolver: Resolves references.
    """

    def __init__(
        self, *, sessions: SessionStore, record: SystemOfRecord, extractor: Extractor, resolver: Resolver
    ) -> None:
        self._sessions = sessions
        self._record = record
        self._extractor = extractor
        self._resolver = resolver

    async def read(self, message: str, *, session_id: str, user_id: str, now: datetime) -> Understood:
        """Extracts from a message and resolves it concurrently.

        Raises:
            StoreUnavailable: The session cannot be read.
        """
        session = await self._sessions.load(session_id, user_id=user_id)
        request = ResolutionRequest.in_session(session, message, now=now)
        extraction, resolution = await asyncio.gather(
            self.extract(message, user_id=user_id), self._resolve_request(request)
        )
        return Understood(resolution=_link_revision(resolution, extraction), extraction=extraction, turns=session.turns)

    async def resolve(self, query: str, *, session_id: str, user_id: str, now: datetime) -> CoreferenceResult:
        """Resolves the references of a query in its session.

        Raises:
            StoreUnavailable: The session cannot be read.
        """
        session = await self._sessions.load(session_id, user_id=user_id)
        return await self._resolve_request(ResolutionRequest.in_session(session, query, now=now))

    async def extract(self, text: str, *, user_id: str) -> Extraction:
        """Finds the mentions and remember-intents of a text; long-term mentions carry the id of their entity."""
        try:
            try:
                [extraction] = await recognise([text], user_id=user_id, record=self._record, extractor=self._extractor)
            except StoreUnavailable as error:
                _log.warning("chat_degraded", part="record", component=error.component, error=error.message)
                [extraction] = await self._extractor.extract([text])
                return extraction.model_copy(update={"degraded": (*extraction.degraded, "record")})
        except Unavailable as error:
            _log.error("entity_extraction_failed", component=error.component, error=error.message, exc_info=True)
            return Extraction(degraded=("extractor",))
        return extraction

    async def _resolve_request(self, request: ResolutionRequest) -> CoreferenceResult:
        try:
            return await self._resolver.resolve(request)
        except Unavailable as error:
            _log.warning("chat_degraded", part="resolver", component=error.component, error=error.message)
            return CoreferenceResult(original_query=request.query, resolved_query=request.query, degraded=("resolver",))


def _link_revision(result: CoreferenceResult, extraction: Extraction) -> CoreferenceResult:
    """Adds the entity id to a revision's antecedent where the extractor found its name in the message."""
    revision = result.revision
    if revision is None or revision.resolution.entity_id is not None:
        return result
    name = normalise(revision.resolution.resolved_text)
    named = (mention.entity_id for mention in extraction.mentions if normalise(mention.text) == name)
    entity_id = next((entity_id for entity_id in named if entity_id), None)
    if entity_id is None:
        return result
    resolution = revision.resolution.model_copy(update={"entity_id": entity_id})
    return result.model_copy(
        update={
            "revision": revision.model_copy(update={"resolution": resolution}),
            "entities_found": (*result.entities_found, entity_id),
        }
    )
