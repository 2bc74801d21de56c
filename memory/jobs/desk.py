"""Retries and cancels runs of all kinds, and says of those whose process has died that they failed (004 §11.4)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from typing_extensions import override

from ..ports.jobs import PipelineRun, RunControl, RunLog, RunQuery, RunState
from ..values.base import utc_now
from ..values.errors import Conflict, NotFound, StoreUnavailable
from ..values.ids import new_id
from .queue import died
from .runs import cancelled, failed
from .tasks import cancel, log_defect

_MOST_RUNNING = 1_000
_MOST_DELETED = 500
_PRUNED_EVERY = timedelta(hours=1)
_LEASE = timedelta(seconds=20)
_log = structlog.get_logger(__name__)

Retry = Callable[[PipelineRun], Awaitable[PipelineRun]]
ERASED_USER = "erased_user"
"""The field of a run's input that says whose run it was no longer: such a run cannot be repeated."""


def always(_: PipelineRun) -> str | None:
    """Nothing keeps a run from being cancelled."""
    return None


@dataclass(frozen=True)
class RunKind:
    """What can be done about the runs of a kind.

    Args:
        retry: Starts a run with the same input; or why there is no such thing.
        refuse_cancel: Why a run cannot be cancelled now; None where it can.
        recovers: Whether its job itself continues a run whose process has died.
        expires: Whether its runs may be deleted when they are old; not where they say what is in force, as erasures do.
    """

    retry: Retry | str
    refuse_cancel: Callable[[PipelineRun], str | None] = always
    recovers: bool = False
    expires: bool = True


class RunDesk(RunControl):
    """See `RunControl`.

    Args:
        runs: Where runs are recorded.
        kinds: By pipeline; a run of another kind can be neither retried nor cancelled.
        poll_s: Seconds between looks for runs whose process has died.
        kept_for: For how long runs that are over are kept, beside the latest of each kind; None for ever.
        now: The clock.
    """

    def __init__(
        self,
        *,
        runs: RunLog,
        kinds: Mapping[str, RunKind],
        poll_s: float = 5.0,
        kept_for: timedelta | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._runs = runs
        self._kinds = kinds
        self._poll_s = poll_s
        self._kept_for = kept_for
        self._now = now
        self._next_prune = now()
        self._loop: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Starts looking for runs whose process has died, in the background."""
        self._loop = asyncio.get_running_loop().create_task(self._sweep_forever())
        self._loop.add_done_callback(log_defect("run_desk_crashed"))

    async def close(self) -> None:
        """Stops looking."""
        await cancel(self._loop)

    @override
    async def retry(self, run_id: str, *, app: str | None) -> PipelineRun:
        run = await find_run(self._runs, run_id, app=app)
        if run.state not in (RunState.FAILED, RunState.CANCELLED):
            raise Conflict(f"Only a run that failed or was cancelled can be retried; this one is {run.state.value}.")
        if run.input.get(ERASED_USER):
            raise Conflict("The user of this run was erased.")
        retry = self._kind_of(run).retry
        if isinstance(retry, str):
            raise Conflict(retry)
        return await retry(run)

    @override
    async def cancel(self, run_id: str, *, app: str | None) -> PipelineRun:
        run = await find_run(self._runs, run_id, app=app)
        if run.state.is_over:
            raise Conflict(f"The run is over: it is {run.state.value}.")
        if (refusal := self._kind_of(run).refuse_cancel(run)) is not None:
            raise Conflict(refusal)
        await self._runs.request_cancel(run_id)
        if run.state is RunState.QUEUED:
            await self._end_where_free(run, lambda known: cancelled(known, at=self._now()))
        return await find_run(self._runs, run_id, app=app)

    async def sweep(self) -> None:
        """Records runs whose process has died as failed, or as cancelled where that was asked for.

        Raises:
            StoreUnavailable: The record is away.
        """
        query = RunQuery(states=[RunState.RUNNING], limit=_MOST_RUNNING)
        for run in await self._runs.find(query, app=None):
            kind = self._kinds.get(run.pipeline)
            is_dead = run.alive_until is not None and run.alive_until <= self._now()
            if not is_dead or (kind is not None and kind.recovers):
                continue
            await self._end_where_free(run, self._ended)

    async def prune(self) -> int:
        """Deletes runs that are over and older than they are kept, and returns their number.

        Raises:
            StoreUnavailable: The record is away.
        """
        if self._kept_for is None:
            return 0
        deleted = 0
        over = [state for state in RunState if state.is_over]
        for pipeline in (name for name, kind in self._kinds.items() if kind.expires):
            latest = {run.run_id for run in await self._runs.latest(pipeline)}
            query = RunQuery(pipelines=[pipeline], states=over, until=self._now() - self._kept_for, limit=_MOST_DELETED)
            while old := [run.run_id for run in await self._runs.find(query, app=None) if run.run_id not in latest]:
                await self._runs.delete(old)
                deleted += len(old)
        return deleted

    def _ended(self, run: PipelineRun) -> PipelineRun:
        at = self._now()
        return cancelled(run, at=at) if run.cancel_requested else failed(run, died(run), at=at)

    async def _end_where_free(self, run: PipelineRun, end: Callable[[PipelineRun], PipelineRun]) -> None:
        """Ends a run that nobody works on."""
        now = self._now()
        if await self._runs.lease(run.run_id, holder=new_id(), now=now, until=now + _LEASE) is None:
            return
        known = await self._runs.get(run.run_id)
        if known is None or known.state is not run.state:
            return
        over = end(known.model_copy(update={"alive_until": run.alive_until}))
        await self._runs.save(over)
        _log.warning("run_ended_by_others", run_id=run.run_id, pipeline=run.pipeline, error=over.error)

    def _kind_of(self, run: PipelineRun) -> RunKind:
        kind = self._kinds.get(run.pipeline)
        if kind is None:
            raise Conflict(f"Nothing in this service works on runs of {run.pipeline}.")
        return kind

    async def _sweep_forever(self) -> None:
        while True:
            try:
                await self.sweep()
                if self._now() >= self._next_prune:
                    self._next_prune = self._now() + _PRUNED_EVERY
                    if (deleted := await self.prune()) > 0:
                        _log.info("runs_expired", count=deleted)
            except StoreUnavailable as error:
                _log.warning("run_sweep_postponed", error=error.message)
            await asyncio.sleep(self._poll_s)


async def find_run(runs: RunLog, run_id: str, *, app: str | None) -> PipelineRun:
    """The run of this id.

    Args:
        runs: Where runs are recorded.
        run_id: The run.
        app: Whose it has to be; None for any app's and the service's own.

    Raises:
        NotFound: There is none, for this app.
    """
    run = await runs.get(run_id)
    if run is None or (app is not None and run.app != app):
        raise NotFound(f"run_id: there is no run {run_id!r}")
    return run
