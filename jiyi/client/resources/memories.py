"""How memories are kept: `/memories/timeline`, `/memories/{id}`, `/memories/audit`, `/memories/policy`."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from deployments.http.schemas.memory.governance import ChangeList
from deployments.http.schemas.memory.retention import AuditList, EditMemoryReply
from memory.governance.policies import EffectivePolicy, PolicyPreview
from memory.governance.timeline import RetainedMemory, Timeline
from memory.values.governance.changes import Change
from memory.values.governance.decisions import DecisionRecord

from ..calls import Call, Paged, call, given, segment
from ..endpoints import Resource, T_co, endpoint, pages
from .chat import Time


class Memories(Resource[T_co]):
    """`client.memories`; they are added by `client.add`, and found by `client.search`."""

    @pages
    def timeline(
        self,
        *,
        user_id: str,
        since: Time | None = None,
        until: Time | None = None,
        kind: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Paged[Timeline, RetainedMemory]:
        """`GET /memories/timeline`: latest first, with how well each is retained."""
        params = given(user_id=user_id, since=since, until=until, kind=kind, after=after, limit=limit)
        return Paged(call("GET", "/memories/timeline", params=params))

    @endpoint
    def get(self, memory_id: str, *, user_id: str) -> Call[RetainedMemory]:
        """`GET /memories/{memory_id}`."""
        return call("GET", f"/memories/{segment(memory_id)}", params={"user_id": user_id})

    @endpoint
    def edit(
        self,
        memory_id: str,
        *,
        user_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
    ) -> Call[EditMemoryReply]:
        """`PUT /memories/{memory_id}`: changes what it says, or its metadata."""
        body = given(user_id=user_id, text=text, metadata=metadata, expected_version=expected_version, reason=reason)
        return call("PUT", f"/memories/{segment(memory_id)}", body=body, repeatable=expected_version is None)

    @endpoint
    def delete(
        self,
        memory_id: str,
        *,
        user_id: str,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        wait: bool | None = None,
    ) -> Call[DecisionRecord]:
        """`DELETE /memories/{memory_id}`: with message and facts, everywhere; it cannot be undone."""
        params = given(user_id=user_id, expected_version=expected_version, wait=wait)
        params["idempotency_key"] = idempotency_key or str(uuid4())
        return call("DELETE", f"/memories/{segment(memory_id)}", params=params)

    @pages
    def history(
        self, memory_id: str, *, user_id: str, before: int | None = None, limit: int | None = None
    ) -> Paged[ChangeList, Change]:
        """`GET /memories/{memory_id}/history`: what was changed and decided, latest first."""
        params = given(user_id=user_id, before=before, limit=limit)
        return Paged(call("GET", f"/memories/{segment(memory_id)}/history", params=params), cursor="before")

    @endpoint
    def decide(
        self,
        decisions: Mapping[str, str],
        *,
        user_id: str,
        expected_versions: Mapping[str, int] | None = None,
        idempotency_key: str | None = None,
        note: str | None = None,
        wait: bool | None = None,
    ) -> Call[DecisionRecord]:
        """`POST /memories/audit`: `retain`, `delete` or `anonymize` by memory, all of them or none."""
        body = given(user_id=user_id, decisions=decisions, expected_versions=expected_versions, note=note, wait=wait)
        body["idempotency_key"] = idempotency_key or str(uuid4())
        return call("POST", "/memories/audit", body=body, repeatable=True)

    @pages
    def decisions(
        self, *, user_id: str, memory_id: str | None = None, before: int | None = None, limit: int | None = None
    ) -> Paged[AuditList, DecisionRecord]:
        """`GET /memories/audit`: decisions, latest first."""
        params = given(user_id=user_id, memory_id=memory_id, before=before, limit=limit)
        return Paged(call("GET", "/memories/audit", params=params), cursor="before")

    @endpoint
    def policy(self, *, user_id: str | None = None) -> Call[EffectivePolicy]:
        """`GET /memories/policy`: of a user, or of the app."""
        return call("GET", _policy_of(user_id), params=given(user_id=user_id))

    @endpoint
    def set_policy(self, policy: Mapping[str, float] | None, *, user_id: str | None = None) -> Call[EffectivePolicy]:
        """`PUT /memories/policy`: of a user, or of the app; None removes it."""
        return call("PUT", _policy_of(user_id), body={"policy": policy, **given(user_id=user_id)})

    @endpoint
    def preview_policy(
        self, policy: Mapping[str, float] | None = None, *, user_id: str | None = None, samples: int = 10
    ) -> Call[PolicyPreview]:
        """`POST /memories/policy/preview`: what it would count as forgotten; None for the policy that holds."""
        body = given(policy=policy, user_id=user_id, samples=samples)
        return call("POST", f"{_policy_of(user_id)}/preview", body=body, repeatable=True)


def _policy_of(user_id: str | None) -> str:
    return "/memories/policy" if user_id else "/memories/policy/app"
