"""`/resolve` and `/sessions/{id}`: references in a conversation, and its short-term memory (000 §4.3, DESIGN §9)."""

from fastapi import APIRouter
from starlette.convertors import PathConvertor, register_url_convertor

from memory.values.base import utc_now
from memory.values.understanding.dialogue import Turn

from ...schemas.fields import SessionName
from ...schemas.memory.chat import DEFAULT_SESSION, ResolveBody, SessionReply
from ...schemas.memory.understanding import ResolveReply
from ...schemas.users import UserQuery
from ...support.service_route import ServiceRoute
from ...support.services import ServicesDep


class _AnyText(PathConvertor):
    """The rest of a path whatever is in it, so that slashes and line breaks are refused by the field's name."""

    regex = r"[\s\S]*"


register_url_convertor("text", _AnyText())
router = APIRouter(route_class=ServiceRoute)


@router.post("/resolve", tags=["language"])
async def resolve(body: ResolveBody, services: ServicesDep) -> ResolveReply:
    """Resolves the references of a query and rewrites it so that it is self-contained; stores nothing.

    The reply also says what the query is for (`intents`) and what it states (`facts`).

    An ambiguous reference is left as it is, and `clarification` holds the question to ask. A query that answers such a
    question, or corrects an earlier resolution, resolves the earlier query again (`revision`).

    The context is the stored session `session_id`, or `history`: turns given in the request, oldest first.
    """
    session: str | tuple[Turn, ...] = body.session_id or DEFAULT_SESSION
    if body.history is not None:
        now = utc_now()
        session = tuple(
            Turn(role=turn.role, content=turn.content, speaker=turn.speaker, created_at=turn.created_at or now)
            for turn in body.history
        )
    understood = await services.entities.understand(body.query, body.user_id, session=session)
    services.count_degraded(understood.degraded)
    return ResolveReply.of(understood)


@router.get("/sessions/{session_id:text}", tags=["chat"])
async def get_session(session_id: SessionName, user_id: UserQuery, services: ServicesDep) -> SessionReply:
    """A session: the entities mentioned, the resolved references with their corrections, and the turns.

    An unknown session is returned empty.
    """
    session = await services.sessions.load(session_id, user_id=user_id)
    return SessionReply(context=session.context, turns=session.turns)
