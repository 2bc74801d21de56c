"""`POST /memories` and `POST /search`: what is kept, and finding it again (DESIGN §9)."""

from fastapi import APIRouter

from memory.chat.messages import NewMemory
from memory.values.base import utc_now
from memory.values.hits import SearchFilter, SearchRequest

from ...schemas.memory.chat import AddBody, AddedMemory, AddReply, SearchBody, SearchReply
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep

router = APIRouter(tags=["memories"], responses=replies(409), route_class=ServiceRoute)


@router.post("/memories")
async def add(body: AddBody, services: ServicesDep) -> AddReply:
    """Keeps recorded turns or a text, with metadata; returns their ids in order.

    What carries a `turn_id` is kept once, however often it is sent. With `wait` (the default) the memories can be
    found when the reply comes (`learned` says what was learned of them; null where that has to wait for a part that is
    down); without it they are safe, and can be found soon after.
    """
    now = utc_now()
    additions = [
        NewMemory(
            content=part.content,
            kind=kind,
            role=part.role,
            speaker=part.speaker,
            turn_id=part.turn_id,
            metadata=part.metadata,
            created_at=part.created_at or now,
        )
        for part, kind in body.parts()
    ]
    added, learned = await services.additions.add(
        additions, user_id=body.user_id, session_id=body.session_id, wait=body.wait
    )
    return AddReply(
        results=tuple(AddedMemory(id=item.id, resource_id=item.resource_id, memory=item.text) for item in added),
        learned=learned,
    )


@router.post("/search")
async def search(body: SearchBody, services: ServicesDep) -> SearchReply:
    """Finds entities and memories; each hit shows the parts of its score. A filter leaves memories only.

    With a question, the best memories are read: `answers` among the parts of a hit says how probably it answers,
    `words` in which words, and `unanswered` how probably none does.
    """
    result = await services.retriever.search(
        SearchRequest(
            query=body.query,
            user_id=body.user_id,
            top_k=body.top_k,
            kinds=body.kinds,
            entity_type=body.entity_type,
            filters=SearchFilter(**body.filters.model_dump()),
            now=utc_now(),
        )
    )
    services.count_degraded(result.degraded)
    return SearchReply(results=result.hits, unanswered=result.unanswered, degraded=result.degraded)
