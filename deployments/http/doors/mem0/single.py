"""`/mem0/v1/memories/{memory_id}/`, its history, `/v1/batch/` and `/v1/feedback/`: memories by their ids."""

from collections import defaultdict
from typing import Any

from fastapi import APIRouter
from pydantic import JsonValue

from memory.governance.editing import MemoryEdit, edit_memory
from memory.values.access.identity import shown_user
from memory.values.base import utc_now
from memory.values.errors import NotFound
from memory.values.governance.changes import Change
from memory.values.governance.decisions import MAX_DECISIONS, Decision, DecisionRequest
from memory.values.ids import derive_id
from memory.values.records import EXPIRES_ON, Memory

from ...identity.current import CURRENT_IDENTITY
from ...identity.operators import write_audit
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .bodies import BatchDeleteBody, BatchUpdateBody, FeedbackBody, UpdateBody
from .kept import FEEDBACK, KeptMemory, repacked
from .owners import MemoryOfPath, MemoryRef, find_memory
from .reading import with_categories
from .replies import PREFIX

router = APIRouter(prefix=PREFIX, route_class=ServiceRoute)
_CHANGES = 100
_MEMORY = "/v1/memories/{memory_id:path}/"


@router.get("/v1/memories/{memory_id:path}/history/")
async def get_history(ref: MemoryOfPath, services: ServicesDep) -> list[dict[str, Any]]:
    """What happened to a memory, oldest first; of a deleted one, that it was, where the credential names the user."""
    changes: list[Change] = []
    async with services.record.reading(user_id=ref.user_id) as unit:
        memories = await unit.memories.get([ref.memory_id])
        said = await unit.log.get([memory.resource_id for memory in memories])
        while page := await unit.changes.list(
            subject=ref.memory_id, before=changes[-1].sequence if changes else None, limit=_CHANGES
        ):
            changes += page
    entries = [entry for change in reversed(changes) if (entry := _entry(change, ref.memory_id))]
    if not memories and not entries:
        raise NotFound("Memory not found!")
    first = [_added(memory, entries) for memory in memories]
    spoken = [{"role": message.role.value, "content": message.content} for message in said]
    common = {"memory_id": ref.memory_id, "user_id": shown_user(ref.user_id), "input": spoken}
    return [common | entry for entry in (*first, *entries)]


@router.get(_MEMORY)
async def get(ref: MemoryOfPath, services: ServicesDep) -> dict[str, Any]:
    """One memory."""
    return (await _shown(services, await _stored(services, ref))).shown()


@router.put(_MEMORY)
async def update(ref: MemoryOfPath, body: UpdateBody, services: ServicesDep) -> dict[str, Any]:
    """Changes what is given of a memory; metadata are replaced, and null takes the expiration date away."""
    return (await _shown(services, await _edit(services, ref, body))).shown()


@router.delete(_MEMORY)
async def delete(ref: MemoryOfPath, services: ServicesDep, delete_linked: bool = False) -> dict[str, Any]:
    """Deletes a memory with its message and what was learned from it alone. No memory here hangs on another."""
    await _stored(services, ref)
    await delete_memories(services, ref.user_id, [ref.memory_id])
    return {"message": "Memory deleted successfully!"} | ({"cascade_count": 0} if delete_linked else {})


@router.put("/v1/batch/")
async def batch_update(body: BatchUpdateBody, services: ServicesDep) -> dict[str, Any]:
    """Changes several memories, all of which are there."""
    refs = [await find_memory(one.memory_id, services) for one in body.memories]
    for ref in refs:
        await _stored(services, ref)
    for ref, one in zip(refs, body.memories, strict=True):
        await _edit(services, ref, one)
    return {"message": f"Successfully updated {len(refs)} memories"}


@router.delete("/v1/batch/")
async def batch_delete(body: BatchDeleteBody, services: ServicesDep) -> dict[str, Any]:
    """Deletes several memories, all of which are there."""
    refs = list(dict.fromkeys([await find_memory(one.memory_id, services) for one in body.memories]))
    by_owner: dict[str, list[str]] = defaultdict(list)
    for ref in refs:
        await _stored(services, ref)
        by_owner[ref.user_id].append(ref.memory_id)
    for owner, ids in by_owner.items():
        await delete_memories(services, owner, ids)
    return {"message": f"Successfully deleted {len(refs)} memories"}


@router.post("/v1/feedback/")
async def give_feedback(body: FeedbackBody, services: ServicesDep) -> dict[str, Any]:
    """Keeps what somebody thinks of a memory with it; the reason is in the log of changes."""
    ref = await find_memory(body.memory_id, services)
    async with services.record.writing(user_id=ref.user_id) as unit:
        memory = _only(await unit.memories.get([ref.memory_id]))
        edit = MemoryEdit(
            metadata=repacked(memory, None, **{FEEDBACK: body.feedback}), reason=body.feedback_reason or ""
        )
        _, change = await edit_memory(unit, ref.memory_id, edit, at=utc_now())
        await unit.commit()
    said = derive_id("mem0 feedback", ref.user_id, ref.memory_id, str(body.feedback))
    return {
        "id": said if change is None else change.change_id,
        "feedback": body.feedback,
        "feedback_reason": body.feedback_reason,
    }


async def delete_memories(services: Services, owner: str, memory_ids: list[str]) -> None:
    """Deletes memories of one user, which are there, for good; vectors, sessions and files follow."""
    for start in range(0, len(memory_ids), MAX_DECISIONS):
        decisions = dict.fromkeys(memory_ids[start : start + MAX_DECISIONS], Decision.DELETE)
        record = await services.decisions.decide(
            DecisionRequest(user_id=owner, decisions=decisions, note="", at=utc_now())
        )
        credential = CURRENT_IDENTITY.get().caller.credential
        write_audit("decide_memories", credential=credential, decision_id=record.decision_id)


async def _edit(services: Services, ref: MemoryRef, body: UpdateBody) -> Memory:
    async with services.record.writing(user_id=ref.user_id) as unit:
        memory = _only(await unit.memories.get([ref.memory_id]))
        known = {EXPIRES_ON: body.expiration_date} if "expiration_date" in body.model_fields_set else {}
        edit = MemoryEdit(
            text=body.text or body.data,
            metadata=repacked(memory, body.metadata, **known),
            created_at=body.timestamp,
        )
        edited, _ = await edit_memory(unit, ref.memory_id, edit, at=utc_now())
        await unit.commit()
    services.additions.notify(user_id=ref.user_id)
    return edited


async def _stored(services: Services, ref: MemoryRef) -> Memory:
    async with services.record.reading(user_id=ref.user_id) as unit:
        return _only(await unit.memories.get([ref.memory_id]))


async def _shown(services: Services, memory: Memory) -> KeptMemory:
    return (await with_categories(services, [KeptMemory(memory)]))[0]


def _only(memories: list[Memory]) -> Memory:
    if not memories:
        raise NotFound("Memory not found!")
    return memories[0]


def _entry(change: Change, memory_id: str) -> dict[str, Any] | None:
    """A change of a text, or a deletion, as mem0's history has it; None for what is neither."""
    at = change.at.isoformat()
    entry = {"id": change.change_id, "created_at": at, "updated_at": at}
    if change.decision is not None:
        decided = {one.memory_id: one.decision for one in change.decision.decided}
        deleted = decided.get(memory_id) is Decision.DELETE
        return entry | {"event": "DELETE", "old_memory": None, "new_memory": ""} if deleted else None
    for item in change.items:
        before, after = _text(item.before), _text(item.after)
        if item.item_id == memory_id and before != after:
            return entry | {"event": "UPDATE", "old_memory": before, "new_memory": after}
    return None


def _text(state: dict[str, JsonValue] | None) -> str:
    return "" if state is None else str(state.get("text", ""))


def _added(memory: Memory, entries: list[dict[str, Any]]) -> dict[str, Any]:
    first = entries[0]["old_memory"] if entries else None
    at = memory.created_at.isoformat()
    return {
        "id": memory.resource_id,
        "event": "ADD",
        "old_memory": None,
        "new_memory": memory.text if first is None else first,
        "created_at": at,
        "updated_at": at,
    }
