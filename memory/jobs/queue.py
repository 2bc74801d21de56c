"""Runs that wait for a worker: ingestion, graphs, rebuilds and whatever else registers a handler (004 §8, §11.4)."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import structlog
from pydantic import JsonValue

from ..ports.jobs import PipelineRun, RunLog, RunQuery, RunState
from ..values.base import utc_now
from ..values.errors import InvalidField, StoreUnavailable
from .runs import Heartbeat, RunCancelled, RunTaken, RunWork, begun, cancelled, ended, failed, kept_alive, new_run
from .tasks import cancel, log_defect

_MOST_WAITING = 1_000
_MOST_ATTEMPTS = 5
_BROKEN_OFF = "It was broken off: the service was stopped."
_log = structlog.get_logger(__name__)


class PipelineHandler(ABC):
    """Does the work of one kind of run.

    Args:
        pipeline: The name of the kind, as in `knowledge_ingestion`.
        resumes: Whether a run whose process was killed goes on behind its cursor; else it is recorded as failed.
    """

    def __init__(self, pipeline: str, *, resumes: bool = False) -> None:
        self.pipeline = pipeline
        self.resumes = resumes

    @abstractmethod
    async def work(self, work: RunWork) -> Mapping[str, JsonValue]:
        """Does what `work.run.input` says, and calls `work.advance` after each step.

        What it returns is added to the output. Whatever it raises is recorded with its stack, and fails the run.
        """


class RunQueue:
    """Takes queued runs, oldest first, and works on them; several processes may share the record.

    Args:
        runs: Where runs are recorded.
        handlers: One for each kind.
        at_once: How many runs at once.
        poll_s: Seconds between looks for runs that another process has queued or left.
        heartbeat: How runs show that they are alive.
        now: The clock.
    """

    def __init__(
        self,
        *,
        runs: RunLog,
        handlers: Sequence[PipelineHandler] = (),
        at_once: int = 2,
        poll_s: float = 1.0,
        heartbeat: Heartbeat | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._runs = runs
        self._handlers = {handler.pipeline: handler for handler in handlers}
        self._at_once = at_once
        self._poll_s = poll_s
        self._heartbeat = heartbeat or Heartbeat()
        self._now = now
        self._wake = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.Task[None] | None = None

    @property
    def pipelines(self) -> Sequence[str]:
        """The kinds that have a handler."""
        return tuple(self._handlers)

    def begin(self) -> None:
        """Starts working in the background."""
        if self._handlers:
            self._loop = asyncio.get_running_loop().create_task(self._work_forever())
            self._loop.add_done_callback(log_defect("run_queue_crashed"))

    async def submit(
        self, pipeline: str, given: Mapping[str, JsonValue], *, app: str | None, retry_of: str | None = None
    ) -> PipelineRun:
        """Queues a run and returns at once.

        Raises:
            InvalidField: There is no such kind.
            Unavailable: The record is away.
        """
        if pipeline not in self._handlers:
            raise InvalidField(
                f"kind: {pipeline!r} is no kind of run", field="kind", allowed=", ".join(self._handlers) or "none"
            )
        run = await queue_run(self._runs, pipeline, given, app=app, retry_of=retry_of, at=self._now())
        self._wake.set()
        return run

    async def retry(self, run: PipelineRun) -> PipelineRun:
        """Queues a run with the same input."""
        return await self.submit(run.pipeline, run.input, app=run.app, retry_of=run.run_id)

    def wake(self) -> None:
        """Looks for queued runs now."""
        self._wake.set()

    async def close(self) -> None:
        """Stops; runs that resume go on in the next process."""
        await cancel(self._loop)
        for task in list(self._tasks.values()):
            await cancel(task)

    async def _work_forever(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._take()
            except StoreUnavailable as error:
                _log.warning("run_queue_postponed", error=error.message)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_s):
                    await self._wake.wait()

    async def _take(self) -> None:
        """Begins runs that wait, and those whose process has died, as many as there is room for."""
        states = (RunState.QUEUED, RunState.RUNNING)
        query = RunQuery(pipelines=self.pipelines, states=states, limit=_MOST_WAITING)
        for run in reversed(await self._runs.find(query, app=None)):
            if len(self._tasks) >= self._at_once:
                return
            is_dead = run.alive_until is not None and run.alive_until <= self._now()
            if run.run_id not in self._tasks and (run.state is RunState.QUEUED or is_dead):
                task = asyncio.create_task(self._work_on(run))
                task.add_done_callback(log_defect("run_crashed"))
                task.add_done_callback(lambda _, run_id=run.run_id: self._let_go(run_id))  # type: ignore[misc]
                self._tasks[run.run_id] = task

    def _let_go(self, run_id: str) -> None:
        del self._tasks[run_id]
        self._wake.set()

    async def _work_on(self, found: PipelineRun) -> None:
        handler = self._handlers[found.pipeline]
        try:
            async with kept_alive(
                self._runs, found.run_id, take_over=False, release=True, heartbeat=self._heartbeat, now=self._now
            ) as live:
                run = await self._runs.get(found.run_id)  # another process may have ended it meanwhile
                if run is None or run.state.is_over:
                    return
                if (reason := _why_given_up(run, handler)) is not None:
                    await self._runs.save(failed(run, reason, at=self._now()))
                    _log.error("run_given_up", run_id=run.run_id, pipeline=run.pipeline, reason=reason)
                    return
                run = begun(run, at=self._now())
                work = RunWork(self._runs, run, live, now=self._now)
                try:
                    live.check()
                    await self._runs.save(run)
                    _log.info("run_begun", run_id=run.run_id, pipeline=run.pipeline, attempt=run.attempts)
                    added = await handler.work(work)
                    output = {**work.run.output, **added}
                    await self._save_end(work, ended(work.run, RunState.DONE, at=self._now(), output=output))
                except RunCancelled:
                    await self._save_end(work, cancelled(work.run, at=self._now()))
                except asyncio.CancelledError:
                    if handler.resumes:
                        await asyncio.shield(work.finish(work.run.model_copy(update={"state": RunState.QUEUED})))
                    else:
                        await self._save_end(work, failed(work.run, _BROKEN_OFF, at=self._now()))
                    raise
                except RunTaken:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever fails is what the run is there to show
                    await self._save_end(work, failed(work.run, error, at=self._now()))
        except (RunTaken, StoreUnavailable) as error:  # another process works on it; or its lease ends, and it goes on
            _log.warning("run_left", run_id=found.run_id, error=error.message)

    async def _save_end(self, work: RunWork, run: PipelineRun) -> None:
        seconds = run.duration.total_seconds() if run.duration else 0.0
        write = _log.error if run.state is RunState.FAILED else _log.info
        write("run_ended", run_id=run.run_id, pipeline=run.pipeline, state=run.state.value, s=seconds, error=run.error)
        await asyncio.shield(work.finish(run.without_secrets()))


async def queue_run(
    runs: RunLog,
    pipeline: str,
    given: Mapping[str, JsonValue],
    *,
    app: str | None,
    at: datetime,
    retry_of: str | None = None,
) -> PipelineRun:
    """Queues a run for the process that has its handler, from any process."""
    run = new_run(pipeline, given, at=at, app=app, queued=True, retry_of=retry_of)
    await runs.save(run)
    return run


def _why_given_up(run: PipelineRun, handler: PipelineHandler) -> str | None:
    """Why a run whose process has died does not go on; None where it does, and for one that waits."""
    if run.state is RunState.QUEUED or run.cancel_requested:
        return None
    if not handler.resumes:
        return died(run)
    if run.attempts >= _MOST_ATTEMPTS:
        return f"{died(run)} So did {run.attempts - 1} before it."
    return None


def died(run: PipelineRun) -> str:
    """The reason of a run whose process gives no sign of life any more."""
    since = f" since {run.alive_until.isoformat(timespec='seconds')}" if run.alive_until else ""
    return f"Its process has ended: no sign of life{since}."
