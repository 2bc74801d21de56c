"""The recorded runs of background jobs, in memory."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog, RunPosition, RunQuery, RunState, RunTotal


class InMemoryRuns(RunLog):
    """Runs of jobs; they end with the process."""

    def __init__(self) -> None:
        self._runs: dict[str, PipelineRun] = {}
        self._leases: dict[str, tuple[str, datetime]] = {}
        self._cancelled: set[str] = set()

    @override
    async def save(self, run: PipelineRun) -> None:
        self._runs[run.run_id] = run.with_masked_error()

    @override
    async def add(self, runs: Sequence[PipelineRun]) -> None:
        for run in runs:
            self._runs.setdefault(run.run_id, run.with_masked_error())

    @override
    async def get(self, run_id: str) -> PipelineRun | None:
        run = self._runs.get(run_id)
        return None if run is None else self._shown(run)

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        return await self.find(RunQuery(pipelines=[pipeline], limit=limit), app=None)

    @override
    async def find(self, query: RunQuery, *, app: str | None) -> list[PipelineRun]:
        found = sorted(self._of(app), key=RunPosition.of, reverse=True)
        return [
            self._shown(run)
            for run in found
            if (query.pipelines is None or run.pipeline in query.pipelines)
            and (query.states is None or run.state in query.states)
            and (query.since is None or run.recorded_at >= query.since)
            and (query.until is None or run.recorded_at < query.until)
            and (query.after is None or RunPosition.of(run) < query.after)
        ][: max(query.limit, 0)]

    @override
    async def totals(self, *, app: str | None) -> list[RunTotal]:
        groups: dict[tuple[str, RunState], list[float]] = defaultdict(list)
        for run in self._of(app):
            groups[run.pipeline, run.state].append(run.duration.total_seconds() if run.duration else 0.0)
        return [
            RunTotal(pipeline=pipeline, state=state, count=len(seconds), seconds=sum(seconds))
            for (pipeline, state), seconds in sorted(groups.items())
        ]

    @override
    async def lease(
        self, run_id: str, *, holder: str, now: datetime, until: datetime, take_over: bool = False
    ) -> bool | None:
        if run_id not in self._runs:
            return None
        known, ends = self._leases.get(run_id, (holder, now))
        if known != holder and ends > now and not take_over:
            return None
        self._leases[run_id] = holder, until
        return run_id in self._cancelled

    @override
    async def request_cancel(self, run_id: str) -> None:
        if run_id in self._runs:
            self._cancelled.add(run_id)

    @override
    async def delete(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self._runs.pop(run_id, None)
            self._leases.pop(run_id, None)
            self._cancelled.discard(run_id)

    def _shown(self, run: PipelineRun) -> PipelineRun:
        lease = self._leases.get(run.run_id) if run.state is RunState.RUNNING else None
        update = {"cancel_requested": run.run_id in self._cancelled, "alive_until": lease and lease[1]}
        return run.model_copy(update=update)

    def _of(self, app: str | None) -> list[PipelineRun]:
        return [run for run in self._runs.values() if app is None or run.app == app]
