"""`/knowledge/pipelines…` and `/knowledge/dashboard`: the runs of all background work (004 §11.4)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated

import structlog
from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent

from memory.erasure.requests import pipelines_of
from memory.identity.caller import Identity
from memory.jobs.desk import find_run
from memory.knowledge.totals import count_knowledge
from memory.ports.jobs import PipelineRun, RunLog, RunQuery, RunState, RunStatus
from memory.values.access.identity import KeyScope
from memory.values.base import utc_now
from memory.values.errors import Forbidden, NotFound, Overloaded, Unavailable

from ...identity.operators import APP_OR_ADMIN, AUDITED, IdentityDep
from ...schemas.fields import Identifier, Time
from ...schemas.operations.pipelines import (
    MAX_RUNS,
    CursorQuery,
    Dashboard,
    RunDetail,
    RunList,
    RunSummary,
    cursor_of,
    position_of,
    totals_by_kind,
    totals_by_status,
)
from ...support.problems import replies
from ...support.service_route import ServiceRoute
from ...support.services import Services, ServicesDep

router = APIRouter(
    prefix="/knowledge",
    tags=["pipelines"],
    dependencies=[APP_OR_ADMIN, AUDITED],
    responses=replies(404),
    route_class=ServiceRoute,
)
_log = structlog.get_logger(__name__)
_POLL_S = 0.5
_RECONNECT_MS = 2_000
_LATELY = timedelta(days=1)
_SHOWN_FAILURES = 10
STREAMED: dict[str, type[BaseModel]] = {"state": RunSummary, "progress": RunSummary, "end": RunDetail}
"""The events of a run that is followed, and their data."""
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": [*STREAMED]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["id", "event", "data"],
}
AppQuery = Annotated[Identifier | None, Query(description="Only runs of this app. Default: all that one may see.")]


@router.get("/pipelines")
async def list_runs(
    services: ServicesDep,
    identity: IdentityDep,
    kind: Annotated[list[Identifier] | None, Query(description="Only runs of these kinds.", max_length=50)] = None,
    status: Annotated[list[RunStatus] | None, Query(description="Only runs in these states.", max_length=5)] = None,
    since: Annotated[Time | None, Query(description="Asked for at this time or later.")] = None,
    until: Annotated[Time | None, Query(description="Asked for before this time.")] = None,
    app: AppQuery = None,
    cursor: CursorQuery = None,
    limit: Annotated[int, Query(ge=1, le=MAX_RUNS)] = 50,
) -> RunList:
    """Runs of every kind of background work, latest first; errors are cut.

    Kinds are those of the knowledge base, and `facts_nightly`, `facts_weekly`, `facts_monthly`, `memory_review`,
    `reembedding`, `bulk_indexing`, `index_verify`, `index_mend`, `index_rebuild`, `erasure`, `export`, `import`. A
    credential of scope `app` sees the runs of its app.
    """
    query = RunQuery(
        pipelines=None if kind is None else [name for one in kind for name in pipelines_of(one)],
        states=None if status is None else [one.state for one in status],
        since=since,
        until=until,
        after=None if cursor is None else position_of(cursor),
        limit=limit + 1,
    )
    found = await services.record.runs.find(query, app=_app_of(identity, app))
    shown, now = found[:limit], utc_now()
    return RunList(
        results=tuple(RunSummary.of(run, now=now) for run in shown),
        next=cursor_of(shown[-1]) if len(found) > limit else None,
    )


@router.get("/pipelines/{run_id}")
async def get_run(run_id: Identifier, services: ServicesDep, identity: IdentityDep) -> RunDetail:
    """A run with its input, its output, its whole error and the stack of that."""
    return RunDetail.of(await find_run(services.record.runs, run_id, app=_app_of(identity)), now=utc_now())


@router.post("/pipelines/{run_id}/retry", status_code=202, responses=replies(409))
async def retry_run(run_id: Identifier, services: ServicesDep, identity: IdentityDep) -> RunDetail:
    """Starts a run with the same input as one that failed or was cancelled; `retry_of` names that one.

    409 where it did not fail, where its kind begins again by itself, or while another run of its job is in progress.
    """
    return RunDetail.of(await services.runs.retry(run_id, app=_app_of(identity)), now=utc_now())


@router.post("/pipelines/{run_id}/cancel", status_code=202, responses=replies(409))
async def cancel_run(run_id: Identifier, services: ServicesDep, identity: IdentityDep) -> RunDetail:
    """Cancels a run that waits, and asks one in progress to stop at the next point where it can.

    What is done stays done; `error` says where it stopped. 409 where it is over or can no longer be stopped.
    """
    return RunDetail.of(await services.runs.cancel(run_id, app=_app_of(identity)), now=utc_now())


@router.get(
    "/pipelines/{run_id}/events",
    response_class=EventSourceResponse,
    responses={
        200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": _EVENT}}},
        204: {"description": "The end of the run was sent before: there is nothing more."},
    },
)
async def follow_run(
    run_id: Identifier,
    services: ServicesDep,
    identity: IdentityDep,
    last_event_id: Annotated[str | None, Header(max_length=200, description="The last event that was seen.")] = None,
) -> Response:
    """Follows a run as server-sent events until it ends.

    `state` comes first and at each change of the status, `progress` when more is done, `end` with the whole run, after
    which nothing follows. With `Last-Event-ID` it goes on behind that event, and is 204 where that was the end.
    """
    runs, app = services.record.runs, _app_of(identity)
    run = await find_run(runs, run_id, app=app)
    if run.state.is_over and last_event_id == _event_id(run):
        return Response(status_code=204)
    if services.followers.is_full:
        raise Overloaded("Too many runs are being followed; try again in a moment.")
    return EventSourceResponse(_follow(services, runs, run, app, last_event_id))


@router.get("/dashboard")
async def dashboard(services: ServicesDep, identity: IdentityDep, app: AppQuery = None) -> Dashboard:
    """Counts of corpora, chunks and runs, and the failures of the last 24 hours, ten at most."""
    app_seen, now = _app_of(identity, app), utc_now()
    failures = RunQuery(states=[RunState.FAILED], since=now - _LATELY, limit=_SHOWN_FAILURES)
    runs = services.record.runs
    totals, failed, knowledge = await asyncio.gather(
        runs.totals(app=app_seen), runs.find(failures, app=app_seen), count_knowledge(services.record, app=app_seen)
    )
    return Dashboard(
        corpora=knowledge.corpora,
        chunks=knowledge.chunks,
        runs=totals_by_status(totals),
        kinds=totals_by_kind(totals),
        failures=tuple(RunSummary.of(run, now=now) for run in failed),
    )


def _app_of(identity: Identity, chosen: str | None = None) -> str | None:
    """The app whose runs the caller sees; None for those of all apps and of the service.

    Raises:
        Forbidden: It has chosen an app that is not its own.
    """
    if identity.caller.scope is KeyScope.ADMIN:
        return chosen or (identity.app if identity.app != identity.caller.app else None)
    if chosen not in (None, identity.app):
        raise Forbidden("app: this credential belongs to another app", field="app")
    return identity.app


def _event_id(run: PipelineRun) -> str:
    """Which state of a run an event shows: its status, then when that was recorded."""
    return f"{run.state.status.value}.{run.updated_at.timestamp():.6f}.{run.cancel_requested:d}"


async def _follow(
    services: Services, runs: RunLog, run: PipelineRun, app: str | None, seen: str | None
) -> AsyncIterator[ServerSentEvent]:
    services.followers.taken += 1
    try:
        while True:
            event_id = _event_id(run)
            if event_id != seen:
                yield _event(run, event_id, seen)
                seen = event_id
            if run.state.is_over:
                return
            await asyncio.sleep(_POLL_S)
            try:
                run = await find_run(runs, run.run_id, app=app)
            except NotFound:
                return
            except Unavailable as error:  # the record: it may be back before the reader goes
                _log.warning("run_not_read", run_id=run.run_id, error=error.message)
    finally:
        services.followers.taken -= 1


def _event(run: PipelineRun, event_id: str, seen: str | None) -> ServerSentEvent:
    now = utc_now()
    if run.state.is_over:
        name, data = "end", RunDetail.of(run, now=now).model_dump_json()
    else:
        is_new = seen is None or seen.split(".")[0] != run.state.status.value
        name, data = "state" if is_new else "progress", RunSummary.of(run, now=now).model_dump_json()
    return ServerSentEvent(data=data, event=name, id=event_id, retry=_RECONNECT_MS)
