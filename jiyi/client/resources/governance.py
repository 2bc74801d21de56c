"""Typed memories, the log of changes and the review: `/aam…`, `/memories/conflicts`, `/changes…`, `/review…`."""

from collections.abc import Mapping
from typing import Any

from deployments.http.schemas.memory.governance import ChangeList, DetectReply, ReviewList, StatusReply, TypedMemoryList
from memory.entities.statuses import Reviewable
from memory.ports.jobs import PipelineRun
from memory.typed_memories.conflicts import Conflicts
from memory.typed_memories.manager import StoredMemory
from memory.typed_memories.retrieval import RetrievedMemories
from memory.values.governance.changes import Change
from memory.values.typed_memories import TypedMemory

from ..calls import Call, Paged, call, given
from ..endpoints import Resource, T_co, endpoint, pages


class TypedMemories(Resource[T_co]):
    """`client.typed_memories`: values with a type and a confidence."""

    @endpoint
    def store(
        self,
        entity_type: str,
        entity_value: str,
        *,
        user_id: str,
        confidence: float | None = None,
        content: str | None = None,
        memory_type: str | None = None,
        priority: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Call[StoredMemory]:
        """`POST /aam/entities`; storing it again raises its confidence."""
        body = given(user_id=user_id, entity_type=entity_type, entity_value=entity_value, confidence=confidence)
        body |= given(content=content, memory_type=memory_type, priority=priority, metadata=metadata)
        return call("POST", "/aam/entities", body=body)

    @endpoint
    def retrieve(
        self,
        query: str,
        *,
        user_id: str,
        min_confidence: float | None = None,
        limit: int | None = None,
        entity_type: str | None = None,
    ) -> Call[RetrievedMemories]:
        """`POST /aam/retrieve`: the best by relevance, use and age."""
        body = given(user_id=user_id, query=query, min_confidence=min_confidence, limit=limit, entity_type=entity_type)
        return call("POST", "/aam/retrieve", body=body, repeatable=True)

    @pages
    def list(
        self,
        *,
        user_id: str,
        entity_type: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Paged[TypedMemoryList, TypedMemory]:
        """`GET /aam/entities`."""
        params = given(user_id=user_id, entity_type=entity_type, status=status, after=after, limit=limit)
        return Paged(call("GET", "/aam/entities", params=params))

    @endpoint
    def detect_conflicts(
        self, entity_type: str, new_value: str, *, user_id: str, new_confidence: float | None = None
    ) -> Call[DetectReply]:
        """`POST /memories/conflicts/detect`: what storing a value would find."""
        body = given(user_id=user_id, entity_type=entity_type, new_value=new_value, new_confidence=new_confidence)
        return call("POST", "/memories/conflicts/detect", body=body, repeatable=True)

    @endpoint
    def conflicts(self, *, user_id: str, limit: int | None = None) -> Call[Conflicts]:
        """`GET /memories/conflicts`: those to decide, and those that were decided."""
        return call("GET", "/memories/conflicts", params=given(user_id=user_id, limit=limit))


class Changes(Resource[T_co]):
    """`client.changes`: what was changed, by whom and why."""

    @pages
    def list(
        self,
        *,
        user_id: str,
        subject: str | None = None,
        kind: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> Paged[ChangeList, Change]:
        """`GET /changes`, latest first."""
        params = given(user_id=user_id, subject=subject, kind=kind, before=before, limit=limit)
        return Paged(call("GET", "/changes", params=params), cursor="before")

    @endpoint
    def undo(self, change_id: str | None = None, *, user_id: str, reason: str | None = None) -> Call[Change]:
        """`POST /changes/undo`: a change, or the latest that is not undone."""
        return call("POST", "/changes/undo", body=given(user_id=user_id, change_id=change_id, reason=reason))


class Review(Resource[T_co]):
    """`client.review`: what a person is to look at, and the weekly review."""

    @pages
    def list(
        self,
        *,
        user_id: str,
        kind: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Paged[ReviewList, Reviewable]:
        """`GET /review`: entities or typed memories of a status."""
        params = given(user_id=user_id, kind=kind, status=status, after=after, limit=limit)
        return Paged(call("GET", "/review", params=params))

    @endpoint
    def archive(
        self,
        item: str,
        *,
        user_id: str,
        kind: str | None = None,
        reason: str | None = None,
    ) -> Call[StatusReply]:
        """`POST /review/archive`: search skips it from now on."""
        return call("POST", "/review/archive", body=_status(item, user_id, kind, reason), repeatable=True)

    @endpoint
    def restore(
        self,
        item: str,
        *,
        user_id: str,
        kind: str | None = None,
        reason: str | None = None,
    ) -> Call[StatusReply]:
        """`POST /review/restore`: it is active again."""
        return call("POST", "/review/restore", body=_status(item, user_id, kind, reason), repeatable=True)

    @endpoint
    def mark(
        self,
        item: str,
        *,
        user_id: str,
        kind: str | None = None,
        reason: str | None = None,
    ) -> Call[StatusReply]:
        """`POST /review/mark`: a person is to look at it."""
        return call("POST", "/review/mark", body=_status(item, user_id, kind, reason), repeatable=True)

    @endpoint
    def start(self, *, user_id: str | None = None, dry_run: bool = False) -> Call[PipelineRun]:
        """`POST /review/run`: over one user's memory or all. For operators."""
        return call("POST", "/review/run", body=given(user_id=user_id, dry_run=dry_run), repeatable=True)

    @endpoint
    def status(self) -> Call[PipelineRun | None]:
        """`GET /review/status`: the current run or the last one. For operators."""
        return call("GET", "/review/status")


def _status(item: str, user_id: str, kind: str | None, reason: str | None) -> dict[str, Any]:
    return given(id=item, user_id=user_id, kind=kind, reason=reason)
