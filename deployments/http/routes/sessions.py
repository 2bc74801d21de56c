"""`/sessions/{id}`: what a conversation remembers for a while (000 §4.3, DESIGN §9)."""

from fastapi import APIRouter

from ..schemas.chat import SessionReply
from ..schemas.fields import Identifier
from ..support.services import ServicesDep

router = APIRouter(tags=["chat"])


@router.get("/sessions/{session_id}")
async def session(session_id: Identifier, user_id: Identifier, services: ServicesDep) -> SessionReply:
    """A session as it is now: entities mentioned, what references meant and which of them were corrected, turns.

    One that nobody has spoken in is empty.
    """
    await services.admit(user_id)
    found = await services.sessions.load(session_id, user_id=user_id)
    return SessionReply(context=found.context, turns=found.turns)
