"""`POST /resolve` and `POST /entities/extract`: one part of a chat turn each, alone (DESIGN §9)."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.chat.additions import NewMemory
from memory.extraction.recognition import recognise
from memory.values.base import utc_now
from memory.values.dialogue import Turn
from memory.values.entities import Entity
from memory.values.mentions import Extraction
from memory.values.records import ResourceKind
from memory.values.resolutions import CoreferenceResult, ResolutionRequest

from ..schemas.chat import DEFAULT_SESSION, EntityList, ExtractBody, ExtractReply, ResolveBody
from ..schemas.fields import Identifier
from ..support.services import Services, ServicesDep

router = APIRouter(tags=["language"])


@router.post("/resolve")
async def resolve(body: ResolveBody, services: ServicesDep) -> CoreferenceResult:
    """Resolves the references of a query and rewrites it to stand alone; stores nothing.

    Where a reference could mean several things it stays, and `clarification` says what to ask. A query that answers
    such a question, or corrects what was understood before it, resolves the earlier query (`revision`).

    The context is the stored session `session_id`, or `history`: turns given here, oldest first.
    """
    await services.admit(body.user_id)
    now = utc_now()
    if body.history is not None:
        turns = tuple(
            Turn(role=turn.role, content=turn.content, speaker=turn.speaker, created_at=turn.created_at or now)
            for turn in body.history
        )
        request = ResolutionRequest(query=body.query, user_id=body.user_id, turns=turns, now=now)
    else:
        session = await services.sessions.load(body.session_id or DEFAULT_SESSION, user_id=body.user_id)
        request = ResolutionRequest.in_session(session, body.query, now=now)
    result = await services.resolver.resolve(request)
    services.count_degraded(result.degraded)
    return result


@router.post("/entities/extract")
async def extract(body: ExtractBody, services: ServicesDep) -> ExtractReply:
    """Finds entities and requests to remember; learns them only where `store` is true."""
    await services.admit(body.user_id)
    [extraction] = await recognise(
        [body.text], user_id=body.user_id, record=services.record, extractor=services.extractor
    )
    services.count_degraded(extraction.degraded)
    stored = await _store(body, extraction, services) if body.store else ()
    return ExtractReply(
        mentions=extraction.mentions, remember=extraction.remember, stored=stored, degraded=extraction.degraded
    )


async def _store(body: ExtractBody, extraction: Extraction, services: Services) -> tuple[Entity, ...]:
    _, learned = await services.additions.add(
        [NewMemory(content=body.text, kind=ResourceKind.NOTE, created_at=utc_now(), understanding=extraction)],
        user_id=body.user_id,
        session_id=DEFAULT_SESSION,
        wait=True,
    )
    return learned.entities if learned else ()


@router.get("/entities")
async def entities(
    user_id: Identifier, services: ServicesDep, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> EntityList:
    """The entities that were mentioned last."""
    await services.admit(user_id)
    async with services.record.reading(user_id=user_id) as unit:
        recent = await unit.entities.recent(limit=limit)
    return EntityList(results=tuple(entity for entity in recent if entity.mention_count > 0))
