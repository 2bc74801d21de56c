"""Runs of jobs in ArangoDB."""

from typing import Any

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog

from ..shared.timestamps import microseconds
from .engine import items as items
from .engine import queries as aql
from .engine.client import ArangoServer, rows_of
from .engine.documents import ascii_of, key_of
from .engine.errors import WriteConflict, unavailable


class ArangoRuns(RunLog):
    """Runs of all jobs, each statement a transaction of its own."""

    def __init__(self, server: ArangoServer) -> None:
        self._server = server

    @override
    async def save(self, run: PipelineRun) -> None:
        document = {
            "_key": key_of("", run.run_id),
            "pipeline": ascii_of(run.pipeline),
            "started_us": microseconds(run.started_at),
            "body": run.model_dump_json(),
        }
        await self._query(aql.ALL_RUNS_WITH_THIS_ONE, run=document)

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        found = await self._query(aql.ALL_RUNS_OF_A_JOB, pipeline=ascii_of(pipeline), limit=max(limit, 0))
        return items.values(PipelineRun, found)

    async def _query(self, statement: str, **bind: Any) -> list[Any]:
        deadline_s = self._server.settings.deadline_s
        try:
            return await self._server.call(lambda database: rows_of(database, statement, bind, deadline_s=deadline_s))
        except WriteConflict as error:
            raise unavailable(error) from error
