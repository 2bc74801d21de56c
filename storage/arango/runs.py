"""The recorded runs of background jobs, in ArangoDB."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog, RunQuery, RunState, RunTotal

from ..shared.stored_values import timestamp_us, with_lease
from .engine import run_queries as aql
from .engine.client import ArangoServer, query_alone
from .engine.keys import ascii_of, key_of, order_of, text_of
from .engine.runs import ascii_or_none, run_document


class ArangoRuns(RunLog):
    """Runs of all jobs, each statement a transaction of its own."""

    def __init__(self, server: ArangoServer) -> None:
        self._server = server

    @override
    async def save(self, run: PipelineRun) -> None:
        await query_alone(self._server, aql.ALL_RUNS_WITH_THIS_ONE, run=run_document(run))

    @override
    async def add(self, runs: Sequence[PipelineRun]) -> None:
        await query_alone(self._server, aql.ALL_RUNS_WITH_NEW_ONES, runs=[run_document(run) for run in runs])

    @override
    async def get(self, run_id: str) -> PipelineRun | None:
        found = await query_alone(self._server, aql.ALL_RUNS_OF_THIS_ID, key=key_of("", run_id))
        return next((with_lease(*row) for row in found), None)

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        return await self.find(RunQuery(pipelines=[pipeline], limit=limit), app=None)

    @override
    async def find(self, query: RunQuery, *, app: str | None) -> list[PipelineRun]:
        after = query.after
        found = await query_alone(
            self._server,
            aql.ALL_RUNS_WANTED,
            app=ascii_or_none(app),
            pipelines=None if query.pipelines is None else [ascii_of(name) for name in query.pipelines],
            states=None if query.states is None else [state.value for state in query.states],
            since=_time_us(query.since),
            until=_time_us(query.until),
            after_us=_time_us(after.recorded_at if after else None),
            after_order=order_of(after.run_id) if after else None,
            limit=max(query.limit, 0),
        )
        return [with_lease(*row) for row in found]

    @override
    async def totals(self, *, app: str | None) -> list[RunTotal]:
        found: Sequence[tuple[str, str, float, float]] = await query_alone(
            self._server, aql.ALL_RUN_TOTALS, app=ascii_or_none(app)
        )
        return [
            RunTotal(pipeline=text_of(pipeline), state=RunState(state), count=int(count), seconds=duration_us / 1e6)
            for pipeline, state, count, duration_us in found
        ]

    @override
    async def lease(
        self, run_id: str, *, holder: str, now: datetime, until: datetime, take_over: bool = False
    ) -> bool | None:
        found = await query_alone(
            self._server,
            aql.ALL_RUNS_LEASED,
            key=key_of("", run_id),
            holder=ascii_of(holder),
            now=timestamp_us(now),
            until=timestamp_us(until),
            take_over=take_over,
        )
        return next((bool(cancel) for cancel in found), None)

    @override
    async def request_cancel(self, run_id: str) -> None:
        await query_alone(self._server, aql.ALL_RUNS_CANCELLED, key=key_of("", run_id))

    @override
    async def delete(self, run_ids: Sequence[str]) -> None:
        await query_alone(self._server, aql.ALL_RUNS_DELETED, keys=[key_of("", run_id) for run_id in run_ids])


def _time_us(time: datetime | None) -> int | None:
    return None if time is None else timestamp_us(time)
