"""`/memories/timeline`, `/audit`, `/policy` and `/memories/{memory_id}`: how memories are kept (004 §7, §11.3)."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from memory.governance.editing import MemoryEdit, edit_memory
from memory.governance.policies import EffectivePolicy, PolicyPreview, effective_policy, preview_policy, set_policy
from memory.governance.timeline import RetainedMemory, Timeline, read_memory, read_timeline
from memory.identity.caller import Identity
from memory.ports.stores.places import CURSOR
from memory.values.access.identity import app_owner
from memory.values.base import utc_now
from memory.values.governance.changes import ChangeKind
from memory.values.governance.decisions import Decision, DecisionRecord, DecisionRequest
from memory.values.governance.retention import RetentionPolicy
from memory.values.records import MemoryKind

from ...identity.operators import APP_OR_ADMIN, AUDITED, IdentityDep, write_audit
from ...schemas.fields import Identifier, Time
from ...schemas.memory.governance import ChangeList
from ...schemas.memory.retention import (
    AppPolicyBody,
    AppPreviewBody,
    AuditList,
    DecideBody,
    EditMemoryBody,
    EditMemoryReply,
    PolicyIn,
    UserPolicyBody,
    UserPreviewBody,
)
from ...schemas.users import UserQuery
from ...support.erasing import until_done
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep
from .governance import list_changes

router = APIRouter(prefix="/memories", tags=["retention"], route_class=ServiceRoute)
Limit = Annotated[int, Query(ge=1, le=100)]
Before = Annotated[int | None, Query(ge=0, description="`next` of the previous page.")]
_OF_APPS = [APP_OR_ADMIN, AUDITED]


@router.get("/timeline")
async def get_timeline(
    user_id: UserQuery,
    services: ServicesDep,
    since: Annotated[Time | None, Query(description="Only memories from this time on.")] = None,
    until: Annotated[Time | None, Query(description="Only memories before this time.")] = None,
    kind: Annotated[MemoryKind | None, Query(description="Only memories of this kind.")] = None,
    after: Annotated[str | None, Query(pattern=CURSOR, description="`next` of the page before.")] = None,
    limit: Limit = 20,
) -> Timeline:
    """Memories by time, latest first, with their facts; `retention.score` says how well each is retained (0 to 1)."""
    policy = (await effective_policy(services.record, user_id)).policy
    async with services.record.reading(user_id=user_id) as unit:
        return await read_timeline(
            unit, policy, now=utc_now(), since=since, until=until, kind=kind, after=after, limit=limit
        )


@router.post("/audit", responses=replies(404, 409))
async def decide(body: DecideBody, services: ServicesDep, identity: IdentityDep) -> DecisionRecord:
    """Retains, deletes or anonymises memories, each with its message and facts and what was learned only from them.

    The record is changed when the reply comes; vectors, sessions, caches and files follow (`erasures` names what does
    that, see `GET /erasures/{erasure_id}`). 409 names the memories that have another version than was expected.
    Nothing of it can be undone.
    """
    return await _decide(services, identity, body.request, wait=body.wait)


@router.get("/audit")
async def get_audit(
    user_id: UserQuery,
    services: ServicesDep,
    memory_id: Annotated[Identifier | None, Query(description="Only decisions about this memory.")] = None,
    before: Before = None,
    limit: Limit = 20,
) -> AuditList:
    """Decisions about a user's memories, latest first: ids and counts, and nothing of what was remembered."""
    async with services.record.reading(user_id=user_id) as unit:
        changes = await unit.changes.list(limit=limit, before=before, subject=memory_id, kind=ChangeKind.DECISION)
    results = tuple(change.decision for change in changes if change.decision is not None)
    return AuditList(results=results, next=changes[-1].sequence if len(changes) == limit else None)


@router.get("/policy")
async def get_policy(user_id: UserQuery, services: ServicesDep) -> EffectivePolicy:
    """The policy of retention that holds for a user: their own, else that of the app, else that of document 004."""
    return await effective_policy(services.record, user_id)


@router.put("/policy")
async def put_policy(body: UserPolicyBody, services: ServicesDep) -> EffectivePolicy:
    """Sets the policy of a user; null removes it. Scores change with it, and nothing is removed."""
    return await set_policy(services.record, body.user_id, _policy(body.policy))


@router.post("/policy/preview")
async def preview(body: UserPreviewBody, services: ServicesDep) -> PolicyPreview:
    """What a policy would count as forgotten: how many memories and facts, and those nearest to it. Changes nothing."""
    return await _preview(services, body.user_id, body)


@router.get("/policy/app", dependencies=_OF_APPS)
async def get_app_policy(services: ServicesDep, identity: IdentityDep) -> EffectivePolicy:
    """The policy that holds for users of the app who have none of their own. For its backend and for operators."""
    return await effective_policy(services.record, app_owner(identity.app))


@router.put("/policy/app", dependencies=_OF_APPS)
async def put_app_policy(body: AppPolicyBody, services: ServicesDep, identity: IdentityDep) -> EffectivePolicy:
    """Sets the policy of the app; null removes it. For its backend and for operators."""
    return await set_policy(services.record, app_owner(identity.app), _policy(body.policy))


@router.post("/policy/app/preview", dependencies=_OF_APPS)
async def preview_app(body: AppPreviewBody, services: ServicesDep, identity: IdentityDep) -> PolicyPreview:
    """What a policy would count as forgotten of all users of the app. For its backend and for operators."""
    return await _preview(services, app_owner(identity.app), body)


@router.get("/{memory_id}", responses=replies(404))
async def get_memory(memory_id: Identifier, user_id: UserQuery, services: ServicesDep) -> RetainedMemory:
    """One memory with its facts, its version and how well it is retained; looking at it is no use of it."""
    policy = (await effective_policy(services.record, user_id)).policy
    async with services.record.reading(user_id=user_id) as unit:
        return await read_memory(unit, memory_id, policy, now=utc_now())


@router.put("/{memory_id}", responses=replies(404, 409))
async def put_memory(memory_id: Identifier, body: EditMemoryBody, services: ServicesDep) -> EditMemoryReply:
    """Changes what a memory says, or its metadata; `POST /changes/undo` undoes it. The log keeps what was said.

    Facts of the old text whose value the new one does not name are archived. New facts are learned from what is said,
    not from an edit.
    """
    now = utc_now()
    policy = (await effective_policy(services.record, body.user_id)).policy
    edit = MemoryEdit.model_validate(body.model_dump(exclude={"user_id"}))
    async with services.record.writing(user_id=body.user_id) as unit:
        _, change = await edit_memory(unit, memory_id, edit, at=now)
        edited = await read_memory(unit, memory_id, policy, now=now)
        await unit.commit()
    services.additions.notify(user_id=body.user_id)
    return EditMemoryReply(memory=edited, change=change)


@router.delete("/{memory_id}", responses=replies(404, 409))
async def delete_memory(
    memory_id: Identifier,
    user_id: UserQuery,
    services: ServicesDep,
    identity: IdentityDep,
    expected_version: Annotated[int | None, Query(ge=1, description="409 where it has another version.")] = None,
    idempotency_key: Annotated[Identifier | None, Query(description="Makes retries safe.")] = None,
    wait: Annotated[bool, Query(description="Reply when it is erased everywhere, or after half a minute.")] = False,
) -> DecisionRecord:
    """Deletes a memory with its message and facts, everywhere; see `POST /memories/audit`."""
    request = DecisionRequest(
        user_id=user_id,
        decisions={memory_id: Decision.DELETE},
        expected_versions={} if expected_version is None else {memory_id: expected_version},
        idempotency_key=idempotency_key,
        at=utc_now(),
    )
    return await _decide(services, identity, request, wait=wait)


@router.get("/{memory_id}/history")
async def get_history(
    memory_id: Identifier, user_id: UserQuery, services: ServicesDep, before: Before = None, limit: Limit = 20
) -> ChangeList:
    """What was changed and decided about a memory, also one that is gone; latest first."""
    return await list_changes(user_id, services, subject=memory_id, before=before, limit=limit)


async def _decide(services: Services, identity: Identity, request: DecisionRequest, *, wait: bool) -> DecisionRecord:
    record = await services.decisions.decide(request)
    # Nothing of it says whose memories they were.
    write_audit("decide_memories", credential=identity.caller.credential, decision_id=record.decision_id)
    if wait:
        found = await asyncio.gather(*map(services.erasures.get, record.erasures))
        await asyncio.gather(*(until_done(services.erasures, erasure) for erasure in found))
    return record


async def _preview(services: Services, owner: str, body: AppPreviewBody) -> PolicyPreview:
    policy = _policy(body.policy) or (await effective_policy(services.record, owner)).policy
    return await preview_policy(services.record, owner, policy, now=utc_now(), samples=body.samples)


def _policy(given: PolicyIn | None) -> RetentionPolicy | None:
    return None if given is None else given.policy
