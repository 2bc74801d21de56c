"""Runs operations on the index in the background, one at a time over all processes."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import Any

import structlog
from typing_extensions import override

from ..jobs.runs import LiveRun, RunCancelled, cancelled, ended, failed, kept_alive, new_run
from ..jobs.tasks import cancel, log_defect
from ..ports.jobs import (
    IndexMaintenance,
    IndexOperation,
    IndexReport,
    IndexRun,
    PipelineRun,
    RunLog,
    RunQuery,
    RunState,
)
from ..ports.stores.coordination import Locks
from ..ports.stores.generations import BulkEmbedder
from ..values.base import utc_now
from ..values.errors import Conflict, JiyiError, StoreUnavailable
from .generations import PerSpace
from .verification import IndexVerifier

LOCK = "index-maintenance"
"""Name of the lock for work on the whole index: maintenance, a change of the model, bulk indexing."""
PIPELINES: Mapping[IndexOperation, str] = {operation: f"index_{operation.value}" for operation in IndexOperation}
_OPERATIONS = {pipeline: operation for operation, pipeline in PIPELINES.items()}
_SAVE_EVERY_S = 0.5
_AGAIN = "(what was done stays done: start it again)"
_log = structlog.get_logger(__name__)


class BackgroundMaintenance(IndexMaintenance):
    """Runs one operation on the index at a time, in the background.

    Args:
        verifiers: One for each space; an operation uses that of the space that is live when it starts.
        embedder: Embeds in bulk, for a rebuild.
        runs: Where runs are recorded.
        locks: Locks over all processes.
        now: The clock.
    """

    def __init__(
        self,
        *,
        verifiers: PerSpace[IndexVerifier],
        embedder: BulkEmbedder,
        runs: RunLog,
        locks: Locks,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._verifiers = verifiers
        self._embedder = embedder
        self._runs = runs
        self._locks = locks
        self._now = now
        self._run: PipelineRun | None = None
        self._saved_at = -float("inf")
        self._task: asyncio.Task[None] | None = None

    @override
    async def start(self, operation: IndexOperation) -> IndexRun:
        return index_run_of(await self._start(operation))

    async def retry(self, run: PipelineRun) -> PipelineRun:
        """Starts the operation of a run again; see `start`."""
        return await self._start(_OPERATIONS[run.pipeline], retry_of=run.run_id)

    @override
    async def last_run(self) -> IndexRun | None:
        run = self._run
        if run is None:
            query = RunQuery(pipelines=tuple(_OPERATIONS), limit=1)
            run = next(iter(await self._runs.find(query, app=None)), None)
        return None if run is None else index_run_of(run)

    async def close(self) -> None:
        """Stops the run in progress; a new run can do the rest."""
        await cancel(self._task)

    def figures(self) -> dict[str, float | str]:
        """Figures for `/health/detailed` and the metrics."""
        if self._run is None:
            return {}
        run = index_run_of(self._run)
        return {
            "index_operation": run.operation.value,
            "index_run": run.state.value,
            "index_total": run.total,
            "index_checked": run.report.checked,
            "index_wrong": run.report.wrong,
            "index_mended": run.report.mended,
        }

    async def _start(self, operation: IndexOperation, *, retry_of: str | None = None) -> PipelineRun:
        if self._task and not self._task.done():
            raise Conflict("the index is being verified or rebuilt already")
        started: asyncio.Future[PipelineRun] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold_and_work(operation, started, retry_of))
        either: list[asyncio.Future[Any]] = [self._task, started]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            await self._task  # raises what kept it from starting
        self._task.add_done_callback(log_defect("index_operation_broke"))
        return started.result()

    async def _hold_and_work(
        self, operation: IndexOperation, started: "asyncio.Future[PipelineRun]", retry_of: str | None
    ) -> None:
        async with self._locks.held(LOCK) as ours:
            if not ours:
                raise Conflict("the index is being verified, rebuilt, filled or moved to another model already")
            verifier = await self._verifiers.current()
            total = await verifier.total()
            run = new_run(PIPELINES[operation], {}, at=self._now(), total=total, retry_of=retry_of)
            await self._runs.save(run)
            self._run = run
            started.set_result(run)
            try:
                async with kept_alive(self._runs, run.run_id) as live:
                    await self._work(verifier, operation, live)
                await self._save(ended(self._run, RunState.DONE, at=self._now()))
            except RunCancelled:
                await self._save(cancelled(self._run, at=self._now()))
            except BaseException as error:
                _log.error("index_operation_failed", operation=operation.value, error=str(error))
                reason = f"{error.message} {_AGAIN}" if isinstance(error, JiyiError) else f"it was broken off {_AGAIN}"
                self._run = failed(self._run, error, at=self._now()).model_copy(update={"error": reason})
                with suppress(StoreUnavailable):
                    await asyncio.shield(self._runs.save(self._run))
                if not isinstance(error, JiyiError):
                    raise

    async def _work(self, verifier: IndexVerifier, operation: IndexOperation, live: LiveRun) -> None:
        reports = (
            verifier.rebuild(self._embedder)
            if operation is IndexOperation.REBUILD
            else verifier.verify(mend=operation is IndexOperation.MEND)
        )
        async for report in reports:
            assert self._run is not None  # noqa: S101 - a run is in progress
            self._run = self._run.model_copy(
                update={
                    "output": report.model_dump(mode="json"),
                    "done": report.checked,
                    "total": max(self._run.total, report.checked),
                    "updated_at": self._now(),
                }
            )
            if monotonic() - self._saved_at >= _SAVE_EVERY_S:
                await self._save(self._run)
            live.check()

    async def _save(self, run: PipelineRun) -> None:
        self._run = run
        await self._runs.save(run)
        self._saved_at = monotonic()


def index_run_of(run: PipelineRun) -> IndexRun:
    """A recorded run as an operation on the index."""
    return IndexRun(
        run_id=run.run_id,
        operation=_OPERATIONS[run.pipeline],
        state=run.state,
        total=run.total,
        report=IndexReport.model_validate(run.output),
        error=run.error,
        started_at=run.started_at,
        ended_at=run.ended_at,
    )
