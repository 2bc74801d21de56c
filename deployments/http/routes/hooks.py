"""`/chat/before` and `/chat/after`: entity memory for a chat backend that answers by itself (000 §7.2, §8.1)."""

from fastapi import APIRouter

from ..schemas.entities import AfterBody, BeforeBody, BeforeReply, EntitiesReply
from ..support.services import ServicesDep

router = APIRouter(tags=["chat"])


@router.post("/chat/before")
async def before(body: BeforeBody, services: ServicesDep) -> BeforeReply:
    """On receiving a message: what it refers to, rewritten to stand alone, and what the prompt should know.

    Stores nothing. Where resolving fails the query comes back as it was.
    """
    await services.admit(body.user_id)
    found = await services.entities.before_reply(body.message, body.session_id, body.user_id)
    services.count_degraded(found.resolution.degraded)
    return BeforeReply(
        resolved_query=found.resolved_query,
        resolution=found.resolution,
        clarification=found.resolution.clarification,
        context=found.context,
        entities=found.entities,
    )


@router.post("/chat/after")
async def after(body: AfterBody, services: ServicesDep) -> EntitiesReply:
    """Before sending the reply: writes message and reply down and learns the entities; returns those.

    With `auto_learn` false nothing is written; what comes back are the known entities that the message mentions.
    """
    await services.admit(body.user_id)
    memory = services.entities
    if not body.auto_learn:
        found = await memory.extract_and_store(body.message, body.session_id, body.user_id, auto_learn=False)
    else:
        found = await memory.after_reply(
            body.message, body.session_id, body.user_id, reply=body.reply or "", turn_id=body.turn_id
        )
    return EntitiesReply(results=tuple(found))
