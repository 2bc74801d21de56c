"""`/mem0/v3/memories/add/` and the events that say what became of an addition."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from memory.chat.messages import NewMemory
from memory.values.base import utc_now
from memory.values.errors import InvalidField, NotFound
from memory.values.ids import memory_id, new_id, resource_id
from memory.values.records import EXPIRES_ON, Memory, Resource, ResourceKind
from memory.values.understanding.dialogue import Role

from ...identity.current import CURRENT_USER
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .bodies import AddBody
from .kept import AGENT, APP, EVENT, packed
from .owners import MemoryRef, allowed, find_memory, owner_of
from .replies import PREFIX

router = APIRouter(prefix=PREFIX, route_class=ServiceRoute)
_SUCCEEDED, _PENDING = "SUCCEEDED", "PENDING"
_MOST_WAITING = 4_096
_MOST_MESSAGES = 256


async def _addition(body: AddBody) -> AddBody:
    CURRENT_USER.set(owner_of(body.ids.user_id))
    return body


@router.post("/v3/memories/add/")
async def add(body: Annotated[AddBody, Depends(_addition)], services: ServicesDep) -> dict[str, Any]:
    """Keeps messages; with `infer` (the default) facts are learned from them, without it they are only kept.

    The reply comes when search finds them: `SUCCEEDED`, with their ids. `PENDING` says that they are safe and that a
    part is down which learns them; their ids are then given by the event.
    """
    messages = [message for message in body.messages if message.role != "system"]
    if not messages:
        raise InvalidField(
            "messages: only messages of the system", field="messages", allowed="one of user or assistant"
        )
    ids, call, now = body.ids, new_id(), utc_now()
    owner = owner_of(ids.user_id)
    event_id = memory_id(owner, resource_id(owner, ids.session_id, f"{call}:0"))
    known = {AGENT: ids.agent_id, APP: ids.app_id, EXPIRES_ON: body.expiration_date, EVENT: event_id}
    metadata = packed(body.metadata or {}, **known)
    additions = [
        NewMemory(
            content=message.content,
            kind=ResourceKind.FACT if body.infer is False else ResourceKind.TURN,
            role=Role(message.role),
            speaker=message.name,
            turn_id=f"{call}:{place}",
            metadata=metadata,
            created_at=body.timestamp or now,
        )
        for place, message in enumerate(messages)
    ]
    added, learned = await services.additions.add(additions, user_id=owner, session_id=ids.session_id, wait=True)
    if learned is None:
        return {"status": _PENDING, "event_id": event_id, "message": "The messages are safe, and wait to be learned."}
    async with services.record.reading(user_id=owner) as unit:
        kept = await unit.memories.get([item.id for item in added])
    return {"status": _SUCCEEDED, "event_id": event_id, "results": [_result(memory) for memory in kept]}


@router.get("/v1/event/{event_id}/")
async def get_event(event_id: str, services: ServicesDep) -> dict[str, Any]:
    """What became of an addition: whether it was learned, and the memories that are left of it.

    An event has the id of the first message; where that is deleted, or asked to forget something, the event is gone.
    """
    try:
        event = await find_memory(event_id, services)
    except NotFound:
        event = await _waiting(event_id, services)
    first = await _message_of(event, services)
    if first is None or first.metadata.get(EVENT) != event.memory_id:
        raise NotFound("Event not found or you don't have permission to access it.")
    async with services.record.reading(user_id=event.user_id) as unit:
        later = await unit.log.page(after=first.sequence - 1, limit=_MOST_MESSAGES)
        messages = [entry for entry in later if entry.metadata.get(EVENT) == event.memory_id]
        waiting = await unit.log.list_unextracted(after=first.sequence - 1, limit=_MOST_MESSAGES)
        memories = await unit.memories.get([memory_id(entry.user_id, entry.resource_id) for entry in messages])
    is_done = not {entry.resource_id for entry in waiting} & {entry.resource_id for entry in messages}
    return {
        "id": event.memory_id,
        "event_type": "ADD",
        "status": _SUCCEEDED if is_done else _PENDING,
        "payload": {"messages": [{"role": entry.role.value, "content": entry.content} for entry in messages]},
        "metadata": None,
        "results": [_result(memory) for memory in memories] if is_done else [],
        "created_at": first.created_at.isoformat(),
        "updated_at": first.created_at.isoformat(),
    }


async def _message_of(event: MemoryRef, services: Services) -> Resource | None:
    async with services.record.reading(user_id=event.user_id) as unit:
        memories = await unit.memories.get([event.memory_id])
        if memories:
            return next(iter(await unit.log.get([memories[0].resource_id])), None)
        waiting = await unit.log.list_unextracted(limit=_MOST_WAITING)
    return next((entry for entry in waiting if entry.metadata.get(EVENT) == event.memory_id), None)


async def _waiting(event_id: str, services: Services) -> MemoryRef:
    """The first message of an event that waits to be learned: it has no memory yet that would name its owner.

    Raises:
        NotFound: None of those that wait is of this event.
    """
    for entry in await services.record.backlog.unlearned(limit=_MOST_WAITING):
        if entry.metadata.get(EVENT) == event_id.lower():
            return allowed(MemoryRef(entry.user_id, event_id.lower()))
    raise NotFound("Event not found or you don't have permission to access it.")


def _result(memory: Memory) -> dict[str, Any]:
    return {"id": memory.memory_id, "memory": memory.text, "data": {"memory": memory.text}, "event": "ADD"}
