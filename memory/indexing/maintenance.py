"""Runs operations on the index in the background, one at a time over all processes."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog
from typing_extensions import override

from ..jobs.tasks import cancel, log_defect
from ..ports.coordination import Locks
from ..ports.generations import BulkEmbedder
from ..ports.jobs import IndexMaintenance, IndexOperation, IndexRun, RunState
from ..values.base import utc_now
from ..values.errors import Conflict, JiyiError
from ..values.ids import new_id
from .generations import PerSpace
from .verification import IndexVerifier

LOCK = "index-maintenance"
"""Name of the lock for work on the whole index: maintenance, a change of the model, bulk indexing."""
_log = structlog.get_logger(__name__)


class BackgroundMaintenance(IndexMaintenance):
    """Runs one operation on the index at a time, in the background.

    Args:
        verifiers: One for each space; an operation uses that of the space that is live when it starts.
        embedder: Embeds in bulk, for a rebuild.
        locks: Locks over all processes.
        now: The clock.
    """

    def __init__(
        self,
        *,
        verifiers: PerSpace[IndexVerifier],
        embedder: BulkEmbedder,
        locks: Locks,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._verifiers = verifiers
        self._embedder = embedder
        self._locks = locks
        self._now = now
        self._run: IndexRun | None = None
        self._task: asyncio.Task[None] | None = None

    @override
    async def start(self, operation: IndexOperation) -> IndexRun:
        if self._task and not self._task.done():
            raise Conflict("the index is being verified or rebuilt already")
        started: asyncio.Future[IndexRun] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold_and_work(operation, started))
        either: list[asyncio.Future[Any]] = [self._task, started]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            await self._task  # raises what kept it from starting
        self._task.add_done_callback(log_defect("index_operation_broke"))
        return started.result()

    @override
    async def last_run(self) -> IndexRun | None:
        return self._run

    async def close(self) -> None:
        """Stops the run in progress; a new run can do the rest."""
        await cancel(self._task)

    def figures(self) -> dict[str, float | str]:
        """Figures for `/health/detailed` and the metrics."""
        if self._run is None:
            return {}
        report = self._run.report
        return {
            "index_operation": self._run.operation.value,
            "index_run": self._run.state.value,
            "index_total": self._run.total,
            "index_checked": report.checked,
            "index_wrong": report.wrong,
            "index_mended": report.mended,
        }

    async def _hold_and_work(self, operation: IndexOperation, started: "asyncio.Future[IndexRun]") -> None:
        async with self._locks.held(LOCK) as ours:
            if not ours:
                raise Conflict("the index is being verified, rebuilt, filled or moved to another model already")
            verifier = await self._verifiers.current()
            self._run = IndexRun(
                run_id=new_id(), operation=operation, total=await verifier.total(), started_at=self._now()
            )
            started.set_result(self._run)
            try:
                await self._work(verifier, operation)
                self._end(RunState.DONE)
            except JiyiError as error:
                _log.error("index_operation_failed", operation=operation.value, error=error.message)
                self._end(RunState.FAILED, f"{error.message} (what was done stays done: start it again)")
            finally:
                if self._run.state is RunState.RUNNING:
                    self._end(RunState.FAILED, "it was broken off (what was done stays done: start it again)")

    async def _work(self, verifier: IndexVerifier, operation: IndexOperation) -> None:
        reports = (
            verifier.rebuild(self._embedder)
            if operation is IndexOperation.REBUILD
            else verifier.verify(mend=operation is IndexOperation.MEND)
        )
        async for report in reports:
            assert self._run is not None  # noqa: S101 - a run is in progress
            self._change(report=report, total=max(self._run.total, report.checked))

    def _end(self, state: RunState, error: str | None = None) -> None:
        self._change(state=state, error=error, ended_at=self._now())

    def _change(self, **fields: object) -> None:
        assert self._run is not None  # noqa: S101 - a run is in progress
        self._run = self._run.model_copy(update=fields)
