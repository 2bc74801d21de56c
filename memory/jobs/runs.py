"""A run while a process works on it: how it begins and ends, shows that it is alive, and is stopped (004 §11.4).

A process that works on a run renews its lease. Where the lease ends, the process has ended or hangs: somebody else may
take the run over, or say that it failed (`RunDesk`).
"""

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import structlog
from pydantic import JsonValue

from ..ports.jobs import PipelineRun, RunLog, RunState
from ..values.access.secrets import masked_fields
from ..values.base import utc_now
from ..values.errors import Conflict, JiyiError, StoreUnavailable
from ..values.ids import new_id
from .tasks import cancel

_log = structlog.get_logger(__name__)
_SAVE_EVERY_S = 0.25


class RunCancelled(Conflict):
    """Somebody has cancelled the run."""


class RunTaken(Conflict):
    """Another process works on the run."""


@dataclass(frozen=True)
class Heartbeat:
    """How a process shows that it works on a run.

    Args:
        beat_s: Seconds between signs of life; so long a wish to cancel may stay unnoticed.
        lease_s: Seconds after the last sign until the process counts as dead.
    """

    beat_s: float = 2.0
    lease_s: float = 20.0


class LiveRun:
    """The lease on a run, which is renewed in the background."""

    def __init__(self) -> None:
        self.on_beat: Callable[[], Awaitable[None]] | None = None
        self._must_stop: Callable[[], Conflict] | None = None

    def check(self) -> None:
        """To be called wherever the work can stop.

        Raises:
            RunCancelled: The run is to be cancelled.
            RunTaken: Another process has taken it over.
        """
        if self._must_stop is not None:
            raise self._must_stop()

    def note(self, cancel_requested: bool | None) -> None:
        """Takes what `RunLog.lease` has replied."""
        if cancel_requested is None:
            self._must_stop = lambda: RunTaken("Another process works on this run.")
        elif cancel_requested:
            self._must_stop = lambda: RunCancelled("The run was cancelled.")


@asynccontextmanager
async def kept_alive(
    runs: RunLog,
    run_id: str,
    *,
    take_over: bool = True,
    release: bool = False,
    heartbeat: Heartbeat | None = None,
    now: Callable[[], datetime] = utc_now,
) -> AsyncIterator[LiveRun]:
    """Holds the lease on a run that is recorded while the block runs.

    Args:
        runs: Where the run is recorded.
        run_id: The run.
        take_over: Take it from another process, by a caller that has a lock on the whole job.
        release: Let go of it at the end of the block; else it ends by itself, after the end of the run was recorded.
        heartbeat: How often it is renewed.
        now: The clock.

    Raises:
        RunTaken: Another process has it, or there is no such run.
        StoreUnavailable: The record is away; later that is only logged.
    """
    beat = heartbeat or Heartbeat()
    holder, live = new_id(), LiveRun()

    async def renew(*, take_over: bool = False, lease_s: float = beat.lease_s) -> bool | None:
        at = now()
        until = at + timedelta(seconds=lease_s)
        return await runs.lease(run_id, holder=holder, now=at, until=until, take_over=take_over)

    async def renew_forever() -> None:
        while True:
            await asyncio.sleep(beat.beat_s)
            try:
                live.note(await renew())
                if live.on_beat is not None:
                    await live.on_beat()
            except StoreUnavailable as error:
                _log.warning("run_lease_not_renewed", run_id=run_id, error=error.message)

    first = await renew(take_over=take_over)
    if first is None:
        raise RunTaken("Another process works on this run.")
    live.note(first)
    task = asyncio.create_task(renew_forever())
    try:
        yield live
    finally:
        await cancel(task)
        if release:
            try:
                await asyncio.shield(renew(lease_s=0.0))
            except StoreUnavailable as error:
                _log.warning("run_lease_not_ended", run_id=run_id, error=error.message)


def new_run(
    pipeline: str,
    given: Mapping[str, JsonValue],
    *,
    at: datetime,
    app: str | None = None,
    total: int = 0,
    queued: bool = False,
    retry_of: str | None = None,
) -> PipelineRun:
    """A run that begins now, or waits for somebody to work on it; secrets among what is given are left out."""
    return PipelineRun(
        run_id=new_id(),
        pipeline=pipeline,
        app=app,
        state=RunState.QUEUED if queued else RunState.RUNNING,
        input=masked_fields(given),
        total=total,
        retry_of=retry_of,
        queued_at=at if queued else None,
        started_at=at,
        updated_at=at,
    )


def begun(run: PipelineRun, *, at: datetime) -> PipelineRun:
    """The run when work on it begins, or begins again."""
    waited = run.state is RunState.QUEUED
    return run.model_copy(
        update={
            "state": RunState.RUNNING,
            "started_at": at if run.started_at == run.queued_at else run.started_at,
            "attempts": run.attempts if waited else run.attempts + 1,
            "error": None,
            "stack": None,
            "updated_at": at,
            "ended_at": None,
        }
    )


def ended(run: PipelineRun, state: RunState, *, at: datetime, **fields: object) -> PipelineRun:
    """The run at its end."""
    return run.model_copy(update={"error": None, **fields, "state": state, "updated_at": at, "ended_at": at})


def failed(run: PipelineRun, error: BaseException | str, *, at: datetime) -> PipelineRun:
    """The run after this error, with its stack, or for this reason."""
    if isinstance(error, str):
        return ended(run, RunState.FAILED, at=at, error=error)
    stack = "".join(traceback.format_exception(error))
    return ended(run, RunState.FAILED, at=at, error=reason_of(error), stack=stack)


def cancelled(run: PipelineRun, *, at: datetime) -> PipelineRun:
    """The run after it was cancelled; says where it stopped."""
    return ended(run, RunState.CANCELLED, at=at, error=f"It was cancelled after {run.done} of {run.total}.")


def reason_of(error: BaseException) -> str:
    """What an error says, in a line."""
    if isinstance(error, JiyiError):
        return error.message or type(error).__name__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class RunWork:
    """What a handler works on.

    Args:
        runs: Where the run is recorded.
        run: The run, which has begun.
        live: Its lease.
        now: The clock.
    """

    def __init__(self, runs: RunLog, run: PipelineRun, live: LiveRun, *, now: Callable[[], datetime] = utc_now) -> None:
        self.run = run
        self._runs = runs
        self._live = live
        self._now = now
        self._saved_at = -float("inf")
        self._unsaved = False
        self._writing = asyncio.Lock()
        live.on_beat = self._save

    def check(self) -> None:
        """See `LiveRun.check`."""
        self._live.check()

    async def advance(
        self,
        *,
        done: int | None = None,
        total: int | None = None,
        cursor: str | None = None,
        output: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Notes how far the work is; what is not given stays. To be called wherever the work can stop.

        It is recorded four times a second at most, and with each sign of life, so that what follows a recorded cursor
        may be done twice.

        Args:
            done: Items that are done.
            total: Items that there are.
            cursor: Where the work goes on after an interruption.
            output: Added to the output.

        Raises:
            RunCancelled: The run is to be cancelled; it stops behind what was just noted.
            RunTaken: Another process has taken it over.
            StoreUnavailable: The record is away.
        """
        given = {"done": done, "total": total, "cursor": cursor}
        fields: dict[str, object] = {name: value for name, value in given.items() if value is not None}
        if output:
            fields["output"] = self.run.output | masked_fields(output)
        self.run = self.run.model_copy(update=fields | {"updated_at": self._now()})
        self._unsaved = True
        if monotonic() - self._saved_at >= _SAVE_EVERY_S:
            await self._save()
        self.check()

    async def finish(self, run: PipelineRun) -> None:
        """Records the end of the run, or that it waits again; nothing is recorded afterwards."""
        async with self._writing:
            self._live.on_beat = None
            self._unsaved = False
            await self._runs.save(run)

    async def _save(self) -> None:
        async with self._writing:
            if self._unsaved:
                self._unsaved = False
                await self._runs.save(self.run)
                self._saved_at = monotonic()


@asynccontextmanager
async def recorded_run(
    runs: RunLog,
    pipeline: str,
    given: Mapping[str, JsonValue],
    *,
    app: str | None,
    now: Callable[[], datetime] = utc_now,
) -> AsyncIterator[RunWork]:
    """Records the work of the block as a run, where the work cannot wait in a queue.

    Raises:
        RunCancelled: It was cancelled; what else the block raises is recorded and raised.
        StoreUnavailable: The record is away.
    """
    run = new_run(pipeline, given, at=now(), app=app)
    await runs.save(run)
    async with kept_alive(runs, run.run_id, now=now) as live:
        work = RunWork(runs, run, live, now=now)
        try:
            yield work
            over = ended(work.run, RunState.DONE, at=now())
        except RunCancelled:
            over = cancelled(work.run, at=now())
            raise
        except asyncio.CancelledError:
            over = failed(work.run, "It was broken off: nobody waited for it any more.", at=now())
            raise
        except BaseException as error:
            over = failed(work.run, error, at=now())
            raise
        finally:
            await asyncio.shield(work.finish(over))
