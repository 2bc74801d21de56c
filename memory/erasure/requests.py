"""Requested erasures as they are recorded: with whom and what they mean only as long as that is needed.

They are kept among the runs of jobs, pending ones apart from the finished, so that both are found by an index.
"""

import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import datetime

from ..ports.jobs import PipelineRun, RunLog, RunState
from ..values.base import UserId, Value
from ..values.errors import NotFound
from ..values.governance.erasures import Erasure, ErasureKind, ErasureScope, ErasureState, Receipt, Tombstone
from ..values.ids import new_id

PENDING = "erasure"
DONE = "erasure_done"
KIND = "erasure"
"""The kind of both, where runs are shown."""
MOST_PENDING = 1_000


class Digests:
    """Digests of ids with a key of the service, without which nobody can try who is meant.

    Args:
        key: At least 32 random bytes; another key gives other digests.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def user(self, user_id: str) -> str:
        """The digest of a user's id."""
        return self._digest("user", user_id)

    def target(self, scope: ErasureScope, user_id: str) -> str | None:
        """The digest of the session or item that a scope names."""
        name = scope.session_id or scope.item_id
        return None if name is None else self.part(scope.kind, user_id, name)

    def part(self, kind: ErasureKind, user_id: str, name: str) -> str:
        """The digest of the id of a session or an item."""
        return self._digest(kind.value, user_id, name)

    def _digest(self, *parts: str) -> str:
        return hmac.new(self._key, json.dumps(parts).encode(), hashlib.sha256).hexdigest()


class Target(Value):
    """Whose memory is meant, and how much of it."""

    user_id: UserId
    scope: ErasureScope


class Request(Value):
    """A requested erasure.

    Args:
        target: None once the stores have erased it and only their files remain to be purged.
        points: Ids of points to delete from the vector index, by collection.
        sessions: Ids of turns to forget, by session.
        removed: What was removed so far.
        purged: What was purged, once it is done.
    """

    erasure_id: str
    tombstone: Tombstone
    requested_at: datetime
    target: Target | None
    points: dict[str, list[str]] = {}
    sessions: dict[str, list[str]] = {}
    removed: dict[str, int] = {}
    purged: dict[str, bool] = {}
    attempts: int = 0
    waits_for: str | None = None
    finished_at: datetime | None = None

    def plus(self, removed: dict[str, int]) -> "Request":
        """The request after more was removed."""
        counts = {name: self.removed.get(name, 0) + removed.get(name, 0) for name in {**self.removed, **removed}}
        return self.model_copy(update={"removed": counts})

    def shown(self) -> Erasure:
        """What everybody may see of it."""
        mark = self.tombstone
        receipt = None
        if self.finished_at is not None:
            receipt = Receipt(
                erasure_id=self.erasure_id,
                kind=mark.kind,
                user=mark.user,
                requested_at=self.requested_at,
                finished_at=self.finished_at,
                removed=self.removed,
                purged=self.purged,
            ).sealed()
        return Erasure(
            erasure_id=self.erasure_id,
            kind=mark.kind,
            user=mark.user,
            state=ErasureState.DONE if receipt else ErasureState.PENDING,
            requested_at=self.requested_at,
            attempts=self.attempts,
            waits_for=self.waits_for,
            receipt=receipt,
        )


def new_request(scope: ErasureScope, *, user_id: str, digests: Digests, now: datetime) -> Request:
    """A request with an id of its own."""
    id_ = new_id()
    tombstone = Tombstone(
        erasure_id=id_,
        kind=scope.kind,
        user=digests.user(user_id),
        target=digests.target(scope, user_id),
        more=tuple(digests.part(scope.kind, user_id, name) for name in scope.more),
        messages=scope.messages,
        anonymise=scope.anonymise,
        since=scope.since,
        until=scope.until,
        erased_at=now,
    )
    target = Target(user_id=user_id, scope=scope)
    return Request(erasure_id=id_, tombstone=tombstone, requested_at=now, target=target)


class RequestLog:
    """The recorded requests.

    Args:
        runs: Where they are recorded.
    """

    def __init__(self, runs: RunLog) -> None:
        self._runs = runs

    async def save(self, request: Request, *, now: datetime) -> None:
        """Inserts or replaces."""
        await self._runs.save(run_of(request, now=now))

    async def get(self, erasure_id: str) -> Request:
        """The request of this id.

        Raises:
            NotFound: There is none.
        """
        run = await self._runs.get(erasure_id)
        if run is None or run.pipeline not in (PENDING, DONE):
            raise NotFound(f"erasure_id: there is no erasure {erasure_id!r}")
        return _request(run)

    async def pending(self) -> list[Request]:
        """The requests that are not done, oldest first."""
        return [_request(run) for run in reversed(await self._runs.latest(PENDING, limit=MOST_PENDING))]

    async def done(self, *, limit: int) -> list[Request]:
        """The requests that are done, latest first."""
        return [_request(run) for run in await self._runs.latest(DONE, limit=limit)]


def kind_of(pipeline: str) -> str:
    """The kind of a run as it is shown."""
    return KIND if pipeline in (PENDING, DONE) else pipeline


def pipelines_of(kind: str) -> Sequence[str]:
    """The pipelines whose runs are shown as of this kind."""
    return (PENDING, DONE) if kind == KIND else (kind,)


def shown_run(run: PipelineRun) -> PipelineRun:
    """A run as it may be shown: of an erasure what everybody may see, which does not say whose it is."""
    if run.pipeline not in (PENDING, DONE):
        return run
    request = _request(run)
    erasure = request.shown()
    waits = None if erasure.waits_for is None else f"It waits for {erasure.waits_for}."
    return run.model_copy(
        update={
            "input": {"kind": erasure.kind.value, "user": erasure.user},
            "output": {"removed": dict(request.removed), "purged": dict(request.purged)},
            "attempts": max(1, request.attempts),
            "error": waits,
        }
    )


def run_of(request: Request, *, now: datetime) -> PipelineRun:
    """A request as it is recorded."""
    done = request.finished_at is not None
    return PipelineRun(
        run_id=request.erasure_id,
        pipeline=DONE if done else PENDING,
        state=RunState.DONE if done else RunState.RUNNING,
        input={"request": request.model_dump(mode="json")},
        started_at=request.requested_at,
        updated_at=now,
        ended_at=request.finished_at,
    )


def _request(run: PipelineRun) -> Request:
    return Request.model_validate(run.input["request"])
