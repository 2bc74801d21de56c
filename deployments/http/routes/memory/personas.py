"""`/persona`: who the assistant is for a user (003 §2, DESIGN §9)."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.answering.answers import AnsweredBy
from memory.dialogue.memory_system import ConversationTurn
from memory.values.base import utc_now
from memory.values.personas import DEFAULT_PERSONA, Persona, PersonaId

from ...schemas.memory.personas import PersonaBody, PersonaList, PersonaRemoved, PersonaTurnBody
from ...schemas.users import UserQuery
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep

router = APIRouter(prefix="/persona", tags=["persona"], route_class=ServiceRoute)
PersonaQuery = Annotated[PersonaId, Query(description="The persona, where the user has several.")]


@router.get("")
async def get_persona(user_id: UserQuery, services: ServicesDep, persona_id: PersonaQuery = DEFAULT_PERSONA) -> Persona:
    """A persona: what is given (`profile`) and what conversation has told since (`learned`), each with its confidence.

    One that nobody has given is that of the settings, or empty.
    """
    return await services.personas.load(user_id, persona_id)


@router.get("/list")
async def list_personas(user_id: UserQuery, services: ServicesDep) -> PersonaList:
    """All personas of a user, those of the settings included."""
    return PersonaList(results=tuple(await services.personas.list(user_id)))


@router.put("")
async def put_persona(body: PersonaBody, services: ServicesDep) -> Persona:
    """Gives a persona in place of what was given before; what was learned stays, but for a name that contradicts."""
    return await services.personas.save(body.user_id, body.profile)


@router.delete("", responses=replies(404))
async def delete_persona(
    user_id: UserQuery, services: ServicesDep, persona_id: PersonaQuery = DEFAULT_PERSONA
) -> PersonaRemoved:
    """Removes what was given and learned; a persona of the settings is then as the settings have it."""
    return PersonaRemoved(removed=await services.personas.delete(user_id, persona_id))


@router.post("/learn")
async def learn_persona(body: PersonaTurnBody, services: ServicesDep) -> Persona:
    """Learns from a turn what the user told the assistant about itself and what it said of itself; stores no text.

    What is quoted, and what a prompt held (`injected`), teaches nothing. For a backend that answers by itself: the
    dialogue graph of the service does this with every turn.
    """
    context = await services.dialogue_memory.read(
        body.message, user_id=body.user_id, session_id=body.session_id, at=utc_now()
    )
    turn = ConversationTurn(
        user_id=body.user_id,
        session_id=body.session_id,
        turn_id=body.turn_id,
        context=context,
        replies=((body.persona_id, body.reply or ""),),
        text=body.reply or "",
        answered_by=AnsweredBy.LANGUAGE_MODEL if body.reply else AnsweredBy.EXTRACTIVE,
        injected=body.injected,
    )
    await services.dialogue_memory.learn_personas(turn)
    return await services.personas.load(body.user_id, body.persona_id)
