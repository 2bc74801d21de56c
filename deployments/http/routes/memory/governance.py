"""`/aam…`, `/memories/conflicts`, `/changes…`, `/review…`: typed memories, the log of changes and the review (001)."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.entities.statuses import ReviewableKind, find_reviewable, id_of, list_by_status, set_status
from memory.entities.undo import get_latest_change, undo_in
from memory.ports.jobs import PipelineRun
from memory.typed_memories.conflicts import Conflicts, list_conflicts
from memory.typed_memories.manager import StoredMemory
from memory.typed_memories.retrieval import RetrievedMemories
from memory.values.base import utc_now
from memory.values.governance.changes import Change, ChangeActor, ChangeKind
from memory.values.typed_memories import MemoryStatus, NewTypedMemory

from ...identity.operators import OPERATORS
from ...schemas.fields import Identifier
from ...schemas.memory.governance import (
    ChangeList,
    DetectBody,
    DetectReply,
    RetrieveBody,
    ReviewList,
    ReviewRunBody,
    StatusBody,
    StatusReply,
    StoreEntityBody,
    TypedMemoryList,
    UndoBody,
)
from ...schemas.users import UserQuery
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep

router = APIRouter(tags=["governance"], responses=replies(404, 409), route_class=ServiceRoute)
Limit = Annotated[int, Query(ge=1, le=100)]


@router.post("/aam/entities")
async def store(body: StoreEntityBody, services: ServicesDep) -> StoredMemory:
    """Stores a typed value (001 `store_entity`); storing it again raises its confidence.

    A value that is more confident than a similar one replaces it: the old one is archived and linked, and the change
    can be undone. Otherwise the new value is put in review. Part numbers, rooms, versions, dates and other identifiers
    never conflict.
    """
    new = NewTypedMemory.model_validate(body.model_dump(exclude={"user_id"}))
    manager = await services.typed_memories.current()
    stored = await manager.store_entity(new, user_id=body.user_id)
    services.count_degraded(stored.degraded)
    services.additions.notify(user_id=body.user_id)
    return stored


@router.post("/aam/retrieve")
async def retrieve(body: RetrieveBody, services: ServicesDep) -> RetrievedMemories:
    """The best typed memories by relevance, use and age (001 `retrieve_entities`), with the parts of their scores."""
    manager = await services.typed_memories.current()
    retrieved = await manager.retrieve_entities(
        body.query,
        user_id=body.user_id,
        min_confidence=body.min_confidence,
        limit=body.limit,
        entity_type=body.entity_type,
    )
    services.count_degraded(retrieved.degraded)
    return retrieved


@router.get("/aam/entities")
async def list_typed_memories(
    user_id: UserQuery,
    services: ServicesDep,
    entity_type: Identifier | None = None,
    status: MemoryStatus | None = None,
    after: Identifier | None = None,
    limit: Limit = 20,
) -> TypedMemoryList:
    """A page of typed memories, optionally of one type and status (001 `get_user_entities`)."""
    manager = await services.typed_memories.current()
    memories = await manager.get_user_entities(
        user_id=user_id, entity_type=entity_type, status=status, after=after, limit=limit
    )
    next_page = memories[-1].memory_id if len(memories) == limit else None
    return TypedMemoryList(results=tuple(memories), next=next_page)


@router.post("/memories/conflicts/detect")
async def detect_conflicts(body: DetectBody, services: ServicesDep) -> DetectReply:
    """The conflicts that storing a value would find (001 `detect_conflicts`); stores nothing."""
    manager = await services.typed_memories.current()
    conflicts = await manager.detect_conflicts(
        body.entity_type, body.new_value, body.new_confidence, user_id=body.user_id
    )
    return DetectReply(conflicts=tuple(conflicts))


@router.get("/memories/conflicts")
async def get_conflicts(user_id: UserQuery, services: ServicesDep, limit: Limit = 20) -> Conflicts:
    """Conflicts that a person should decide, and those where the more confident value, or the one that was said later,
    won, which can be undone.
    """
    async with services.record.reading(user_id=user_id) as unit:
        return await list_conflicts(unit, limit=limit)


@router.get("/changes")
async def list_changes(
    user_id: UserQuery,
    services: ServicesDep,
    subject: Annotated[Identifier | None, Query(description="Only changes to this entity or memory.")] = None,
    kind: ChangeKind | None = None,
    before: Annotated[int | None, Query(ge=0, description="`next` of the previous page.")] = None,
    limit: Limit = 20,
) -> ChangeList:
    """What was overwritten, merged, renamed, archived, …, by whom and why; latest first."""
    async with services.record.reading(user_id=user_id) as unit:
        changes = await unit.changes.list(limit=limit, before=before, subject=subject, kind=kind)
    return ChangeList(results=tuple(changes), next=changes[-1].sequence if len(changes) == limit else None)


@router.post("/changes/undo")
async def undo(body: UndoBody, services: ServicesDep) -> Change:
    """Undoes a change; returns the undoing change, which can be undone in turn.

    409 where it is undone already, or where an item that it touched has changed since: the message says which.
    """
    async with services.record.writing(user_id=body.user_id) as unit:
        change_id = body.change_id or await get_latest_change(unit)
        undoing = await undo_in(
            unit, change_id, user_id=body.user_id, at=utc_now(), actor=ChangeActor.USER, reason=body.reason
        )
        await unit.commit()
    services.additions.notify(user_id=body.user_id)
    return undoing


@router.get("/review")
async def list_reviewable(
    user_id: UserQuery,
    services: ServicesDep,
    kind: ReviewableKind = ReviewableKind.ENTITY,
    status: MemoryStatus = MemoryStatus.REVIEW,
    after: Identifier | None = None,
    limit: Limit = 20,
) -> ReviewList:
    """A page of entities or typed memories that are in review, or have another status."""
    async with services.record.reading(user_id=user_id) as unit:
        items = await list_by_status(unit, kind, status, after=after, limit=limit)
    return ReviewList(results=tuple(items), next=id_of(items[-1]) if len(items) == limit else None)


@router.post("/review/archive")
async def archive(body: StatusBody, services: ServicesDep) -> StatusReply:
    """Archives an entity or typed memory: search and resolution skip it until it is mentioned again or restored."""
    return await _set_status(body, ChangeKind.ARCHIVE, services)


@router.post("/review/restore")
async def restore(body: StatusBody, services: ServicesDep) -> StatusReply:
    """Makes an archived item, or one in review, active again."""
    return await _set_status(body, ChangeKind.RESTORE, services)


@router.post("/review/mark")
async def mark(body: StatusBody, services: ServicesDep) -> StatusReply:
    """Marks an entity or typed memory for a person to look at; search still finds it."""
    return await _set_status(body, ChangeKind.REVIEW, services)


@router.post("/review/run", status_code=202, dependencies=OPERATORS)
async def start_review(body: ReviewRunBody, services: ServicesDep) -> PipelineRun:
    """Starts the weekly review now, of one user or of all, and returns at once; see `GET /review/status`.

    For operators. 409 while a review is running.
    """
    return await services.reviews.start(user_id=body.user_id, dry_run=body.dry_run)


@router.get("/review/status", dependencies=OPERATORS)
async def get_review(services: ServicesDep) -> PipelineRun | None:
    """The running review, else the last one; null where there was none."""
    return await services.reviews.last_run()


async def _set_status(body: StatusBody, kind: ChangeKind, services: Services) -> StatusReply:
    async with services.record.writing(user_id=body.user_id) as unit:
        item = await find_reviewable(unit, body.kind, body.id)
        changed, change = await set_status(unit, item, kind, at=utc_now(), actor=ChangeActor.USER, reason=body.reason)
        await unit.commit()
    services.additions.notify(user_id=body.user_id)
    return StatusReply(item=changed, change=change)
