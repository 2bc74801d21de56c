"""The recorded runs of background jobs, in memory."""

from collections import defaultdict
from datetime import datetime

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog, RunPosition, RunQuery, RunState, RunTotal


class InMemoryRuns(RunLog):
    """Runs of jobs; they end with the process."""

    def __init__(self) -> None:
        self._runs: dict[str, PipelineRun] = {}
        self._holders: dict[str, str] = {}

    @override
    async def save(self, run: PipelineRun) -> None:
        known = self._runs.get(run.run_id)
        kept = {
            "cancel_requested": known.cancel_requested if known else False,
            "alive_until": known.alive_until if known else None,
        }
        self._runs[run.run_id] = run.with_masked_error().model_copy(update=kept)

    @override
    async def get(self, run_id: str) -> PipelineRun | None:
        return self._runs.get(run_id)

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        return await self.find(RunQuery(pipelines=[pipeline], limit=limit), app=None)

    @override
    async def find(self, query: RunQuery, *, app: str | None) -> list[PipelineRun]:
        found = sorted(self._of(app), key=RunPosition.of, reverse=True)
        return [
            run
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
        run = self._runs.get(run_id)
        if run is None:
            return None
        is_free = run.alive_until is None or run.alive_until <= now or self._holders.get(run_id) == holder
        if not (is_free or take_over):
            return None
        self._runs[run_id] = run.model_copy(update={"alive_until": until})
        self._holders[run_id] = holder
        return run.cancel_requested

    @override
    async def request_cancel(self, run_id: str) -> None:
        if run := self._runs.get(run_id):
            self._runs[run_id] = run.model_copy(update={"cancel_requested": True})

    def _of(self, app: str | None) -> list[PipelineRun]:
        return [run for run in self._runs.values() if app is None or run.app == app]
