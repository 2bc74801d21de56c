"""`/aam…`, `/memories/conflicts`, `/changes…`, `/review…`: protecting and reviewing what is remembered (001)."""

from typing import Annotated

from fastapi import APIRouter, Query

from memory.entities.statuses import KeepableKind, id_of, named_or_keepable, set_status
from memory.entities.undo import latest_change, undo_in
from memory.ports.jobs import PipelineRun
from memory.typed_memories.hot_retrieval import RetrievedMemories
from memory.typed_memories.listing import Conflicts, list_by_status, list_conflicts
from memory.typed_memories.manager import StoredMemory
from memory.values.base import utc_now
from memory.values.changes import Change, ChangeActor, ChangeKind
from memory.values.typed_memories import MemoryStatus, NewTypedMemory

from ..schemas.fields import Identifier
from ..schemas.governance import (
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
from ..support.services import Services, ServicesDep

router = APIRouter(tags=["governance"])
Limit = Annotated[int, Query(ge=1, le=100)]


@router.post("/aam/entities")
async def store(body: StoreEntityBody, services: ServicesDep) -> StoredMemory:
    """Keeps a typed value once (001 `store_entity`): the same again makes it surer.

    A surer value takes the place of a similar one, which is kept, archived and linked, and the change can be undone;
    one that is not surer is kept in review. Part numbers, rooms, versions, dates and the like never conflict.
    """
    await services.admit(body.user_id)
    new = NewTypedMemory.model_validate(body.model_dump(exclude={"user_id"}))
    stored = await (await services.governance.protection()).store_entity(new, user_id=body.user_id)
    services.count_degraded(stored.degraded)
    services.additions.notify(user_id=body.user_id)
    return stored


@router.post("/aam/retrieve")
async def retrieve(body: RetrieveBody, services: ServicesDep) -> RetrievedMemories:
    """The best typed memories by relevance, use and age (001 `retrieve_entities`), with the parts of their scores."""
    await services.admit(body.user_id)
    found = await (await services.governance.protection()).retrieve_entities(
        body.query,
        user_id=body.user_id,
        min_confidence=body.min_confidence,
        limit=body.limit,
        entity_type=body.entity_type,
    )
    services.count_degraded(found.degraded)
    return found


@router.get("/aam/entities")
async def listed(
    user_id: Identifier,
    services: ServicesDep,
    entity_type: Identifier | None = None,
    status: MemoryStatus | None = None,
    after: Identifier | None = None,
    limit: Limit = 20,
) -> TypedMemoryList:
    """Typed memories of a type and status, or of any (001 `get_user_entities`), page by page."""
    await services.admit(user_id)
    found = await (await services.governance.protection()).get_user_entities(
        user_id=user_id, entity_type=entity_type, status=status, after=after, limit=limit
    )
    return TypedMemoryList(results=tuple(found), next=found[-1].memory_id if len(found) == limit else None)


@router.post("/memories/conflicts/detect")
async def detect(body: DetectBody, services: ServicesDep) -> DetectReply:
    """What a value would contradict (001 `detect_conflicts`); stores nothing."""
    await services.admit(body.user_id)
    found = await (await services.governance.protection()).detect_conflicts(
        body.entity_type, body.new_value, body.new_confidence, user_id=body.user_id
    )
    return DetectReply(conflicts=tuple(found))


@router.get("/memories/conflicts")
async def conflicts(user_id: Identifier, services: ServicesDep, limit: Limit = 20) -> Conflicts:
    """Conflicts that a person should decide, and those where the surer value won; the latter can be undone."""
    await services.admit(user_id)
    async with services.record.reading(user_id=user_id) as unit:
        return await list_conflicts(unit, limit=limit)


@router.get("/changes")
async def changes(
    user_id: Identifier,
    services: ServicesDep,
    subject: Annotated[Identifier | None, Query(description="Only changes to this entity or memory.")] = None,
    kind: ChangeKind | None = None,
    before: Annotated[int | None, Query(ge=0, description="`next` of the page before.")] = None,
    limit: Limit = 20,
) -> ChangeList:
    """What was overwritten, merged, renamed, archived, …: who did it and why, latest first."""
    await services.admit(user_id)
    async with services.record.reading(user_id=user_id) as unit:
        found = await unit.changes.list(limit=limit, before=before, subject=subject, kind=kind)
    return ChangeList(results=tuple(found), next=found[-1].sequence if len(found) == limit else None)


@router.post("/changes/undo")
async def undo(body: UndoBody, services: ServicesDep) -> Change:
    """Undoes a change; returns the change that this is, which can be undone in turn.

    409 where it is undone already, or where what it touched has changed since: the message says what.
    """
    await services.admit(body.user_id)
    async with services.record.writing(user_id=body.user_id) as unit:
        change_id = body.change_id or await latest_change(unit)
        undone = await undo_in(
            unit, change_id, user_id=body.user_id, at=utc_now(), actor=ChangeActor.USER, reason=body.reason
        )
        await unit.commit()
    services.additions.notify(user_id=body.user_id)
    return undone


@router.get("/review")
async def waiting(
    user_id: Identifier,
    services: ServicesDep,
    kind: KeepableKind = KeepableKind.ENTITY,
    status: MemoryStatus = MemoryStatus.REVIEW,
    after: Identifier | None = None,
    limit: Limit = 20,
) -> ReviewList:
    """Entities or typed memories that wait for a person, or those that are archived, page by page."""
    await services.admit(user_id)
    async with services.record.reading(user_id=user_id) as unit:
        found = await list_by_status(unit, kind, status, after=after, limit=limit)
    return ReviewList(results=tuple(found), next=id_of(found[-1]) if len(found) == limit else None)


@router.post("/review/archive")
async def archive(body: StatusBody, services: ServicesDep) -> StatusReply:
    """Archives an entity or typed memory: out of search and resolution until it is mentioned again or restored."""
    return await _set(body, ChangeKind.ARCHIVE, services)


@router.post("/review/restore")
async def restore(body: StatusBody, services: ServicesDep) -> StatusReply:
    """Makes what is archived or in review active again."""
    return await _set(body, ChangeKind.RESTORE, services)


@router.post("/review/mark")
async def mark(body: StatusBody, services: ServicesDep) -> StatusReply:
    """Marks an entity or typed memory for a person to look at; it is found as before."""
    return await _set(body, ChangeKind.REVIEW, services)


@router.post("/review/run", status_code=202)
async def run(body: ReviewRunBody, services: ServicesDep) -> PipelineRun:
    """Starts the weekly review now, of one user or of all, and returns at once; see `GET /review/status`.

    For operators. 409 while one is under way.
    """
    return await services.governance.reviews.start(user_id=body.user_id, dry_run=body.dry_run)


@router.get("/review/status")
async def status(services: ServicesDep) -> PipelineRun | None:
    """The review under way, else the last one; null where there was none."""
    return await services.governance.reviews.last_run()


async def _set(body: StatusBody, kind: ChangeKind, services: Services) -> StatusReply:
    await services.admit(body.user_id)
    async with services.record.writing(user_id=body.user_id) as unit:
        item = await named_or_keepable(unit, body.kind, body.id)
        changed, change = await set_status(unit, item, kind, at=utc_now(), actor=ChangeActor.USER, reason=body.reason)
        await unit.commit()
    services.additions.notify(user_id=body.user_id)
    return StatusReply(item=changed, change=change)
