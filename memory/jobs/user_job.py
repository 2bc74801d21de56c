"""A job over all users: on a schedule or on request, recorded, resumable, in one process at a time."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import Any, Generic, Self, TypeVar

import structlog
from pydantic import JsonValue

from ..ports.jobs import PipelineRun, RunState
from ..ports.stores.coordination import Locks
from ..ports.stores.record import SystemOfRecord
from ..values.base import Value, utc_now
from ..values.errors import Conflict, JiyiError, StoreUnavailable
from .cron import Schedule
from .runs import LiveRun, RunCancelled, begun, cancelled, ended, failed, kept_alive, new_run
from .tasks import cancel, log_defect

_PAGE = 256
_CHECK_INTERVAL_S = 30.0
_INTERRUPTED = "it was interrupted"
_SAVE_EVERY_S = 0.5
_log = structlog.get_logger(__name__)


class JobReport(Value, ABC):
    """What a job did; the report of a run is the sum of those of its users."""

    users: int = 0

    @abstractmethod
    def plus(self, other: Self) -> Self:
        """The sum of two reports."""

    @property
    @abstractmethod
    def is_change(self) -> bool:
        """Whether anything changed, so that the run is saved before the next user."""


ReportT = TypeVar("ReportT", bound=JobReport)


class UserJob(ABC, Generic[ReportT]):
    """Works on all users in the order of their ids and records its progress after each.

    An interrupted scheduled run is continued at the next check of the schedule, by the process that gets the lock; an
    interrupted run that a person started is recorded as failed. The work on a user must be safe to repeat.

    Args:
        pipeline: The name of the job's runs.
        title: What messages call a run, with its article.
        lock: Keeps two processes, and jobs that share it, from working at once.
        report: The class of its reports.
        record: Stores what is worked on, and the runs.
        locks: Where `lock` is taken.
        schedule: When it is due for all users; None for on request only.
        now: The clock.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        title: str,
        lock: str,
        report: type[ReportT],
        record: SystemOfRecord,
        locks: Locks,
        schedule: Schedule | None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._pipeline = pipeline
        self._title = title
        self._lock = lock
        self._report = report
        self._record = record
        self._locks = locks
        self._schedule = schedule
        self._now = now
        self._created_at = now()
        self._run: PipelineRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None

    @abstractmethod
    async def _work_on(self, user_id: str, run: PipelineRun) -> ReportT:
        """The work on one user; times count from the start of the run."""

    async def _finish(self, run: PipelineRun, report: ReportT) -> None:
        """What is done once, after the last user."""

    def begin(self) -> None:
        """Starts watching the schedule, in the background."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch_schedule())

    async def last_run(self) -> PipelineRun | None:
        """The run in progress, else the last one that is recorded."""
        if self._run is not None and self._run.state is RunState.RUNNING:
            return self._run
        return next(iter(await self._record.runs.latest(self._pipeline)), None)

    async def run_if_due(self) -> PipelineRun | None:
        """Works on all users if the job is due and no other process does; continues an interrupted run.

        Raises:
            Unavailable: A store is down; the next call continues.
        """
        if self._schedule is None or (self._task and not self._task.done()):
            return None
        if not await self._is_due():
            return None
        async with self._locks.held(self._lock) as acquired:
            if not acquired:
                return None
            due = await self._is_due()  # another process may just have finished one
            if not due:
                return None
            if isinstance(due, PipelineRun):
                await self._run_to_end(begun(due, at=self._now()))
            else:
                await self._run_to_end(await self._new_run({"user_id": None, "scheduled": True}))
        return self._run

    async def close(self) -> None:
        """Stops a run in progress; the next check of the schedule continues it."""
        await cancel(self._watcher)
        await cancel(self._task)

    async def retry(self, run: PipelineRun) -> PipelineRun:
        """Starts a run with the same input in the background; see `_start`."""
        return await self._start_with(run.input, retry_of=run.run_id)

    async def _start(self, *, user_id: str | None, **options: JsonValue) -> PipelineRun:
        """Starts a run in the background.

        Raises:
            Conflict: A run is in progress.
            Unavailable: It is unknown whether a run is in progress.
        """
        return await self._start_with({"user_id": user_id, **options, "scheduled": False})

    async def _start_with(self, given: Mapping[str, JsonValue], *, retry_of: str | None = None) -> PipelineRun:
        """Starts a run in the background; see `_start`.

        Raises:
            Conflict: A run is in progress.
            Unavailable: It is unknown whether a run is in progress.
        """
        if self._task and not self._task.done():
            raise Conflict(f"{self._title} is running already.")
        started: asyncio.Future[PipelineRun] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._lock_and_run(given, started, retry_of))
        waiting: list[asyncio.Future[Any]] = [self._task, started]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            await self._task  # raises why it did not start
        self._task.add_done_callback(log_defect(f"{self._pipeline}_crashed"))
        return started.result()

    def _figures(self, prefix: str, counts: tuple[str, ...]) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the last run that this process knows, and when the next is due."""
        figures: dict[str, float | str] = {}
        if self._schedule is not None:
            figures[f"{prefix}_next"] = self._schedule.following(self._now()).isoformat()
        if self._run is not None:
            figures |= {f"{prefix}_{name}": float(str(self._run.output.get(name, 0))) for name in counts}
            figures |= {
                f"{prefix}_run": self._run.state.value,
                f"{prefix}_started": self._run.started_at.isoformat(),
                f"{prefix}_users": self._run.done,
                f"{prefix}_users_total": self._run.total,
            }
        return figures

    async def _watch_schedule(self) -> None:
        while True:
            try:
                if self._run is None:
                    self._run = await self._load_last_run()
                await self.run_if_due()
            except JiyiError as error:
                _log.warning(f"{self._pipeline}_postponed", error=error.message)
            await asyncio.sleep(_CHECK_INTERVAL_S)

    async def _load_last_run(self) -> PipelineRun | None:
        """The last recorded run; one recorded as running while no process holds the lock is recorded as failed.

        None where another process has the lock, until that has ended the run or has died.
        """
        last = next(iter(await self._record.runs.latest(self._pipeline)), None)
        if last is None or last.state is not RunState.RUNNING:
            return last
        async with self._locks.held(self._lock) as acquired:
            if not acquired:
                return None
            last = failed(last, _INTERRUPTED, at=self._now())
            await self._record.runs.save(last)
        return last

    async def _is_due(self) -> PipelineRun | bool:
        """The interrupted scheduled run, or whether a new one is due."""
        if self._schedule is None:
            return False
        runs = await self._record.runs.latest(self._pipeline, limit=20)
        last = next((run for run in runs if run.input.get("scheduled")), None)
        if last is not None and last.state not in (RunState.DONE, RunState.CANCELLED):
            return last
        return self._schedule.previous(self._now()) > (last.started_at if last else self._created_at)

    async def _lock_and_run(
        self, given: Mapping[str, JsonValue], started: "asyncio.Future[PipelineRun]", retry_of: str | None
    ) -> None:
        async with self._locks.held(self._lock) as acquired:
            if not acquired:
                raise Conflict(f"{self._title} is running in another process.")
            run = await self._new_run(given, retry_of=retry_of)
            started.set_result(run)
            try:
                await self._run_to_end(run)
            except StoreUnavailable as error:
                _log.error(f"{self._pipeline}_failed", error=error.message)

    async def _new_run(self, given: Mapping[str, JsonValue], *, retry_of: str | None = None) -> PipelineRun:
        now = self._now()
        total = 1 if given["user_id"] is not None else int((await self._record.backlog.counts())["users"])
        run = new_run(self._pipeline, given, at=now, total=total, retry_of=retry_of)
        run = run.model_copy(update={"output": self._report().model_dump(mode="json")})
        self._run = run
        await self._record.runs.save(run)
        return run

    async def _run_to_end(self, run: PipelineRun) -> None:
        """Works on the users after the run's cursor and records each step."""
        self._run = run
        try:
            await self._record.runs.save(run)
            async with kept_alive(self._record.runs, run.run_id) as live:
                report = await self._work_on_users(run, live)
                await self._finish(run, report)
            self._run = ended(self._run, RunState.DONE, at=self._now())
            await self._record.runs.save(self._run)
            _log.info(f"{self._pipeline}_done", **report.model_dump(exclude={"items"}), **run.input)
        except RunCancelled:
            self._run = cancelled(self._run, at=self._now())
            await self._record.runs.save(self._run)
            _log.info(f"{self._pipeline}_cancelled", done=self._run.done, total=self._run.total)
        except BaseException as error:
            reason = _INTERRUPTED if isinstance(error, asyncio.CancelledError) else error
            self._run = failed(self._run, reason, at=self._now())
            with suppress(StoreUnavailable):
                await asyncio.shield(self._record.runs.save(self._run))
            raise

    async def _work_on_users(self, run: PipelineRun, live: LiveRun) -> ReportT:
        """The sum of the reports, also of those users who were done before an interruption."""
        assert self._run is not None  # noqa: S101 - it is `run`
        report = self._report.model_validate(run.output)
        saved_at = monotonic()
        while users := await self._next_users(run.input["user_id"], self._run.cursor):
            for user_id in users:
                live.check()
                done = await self._work_on(user_id, run)
                report = report.plus(done)
                step = {"cursor": user_id, "done": self._run.done + 1, "output": report.model_dump(mode="json")}
                save = done.is_change or user_id == users[-1] or monotonic() - saved_at >= _SAVE_EVERY_S
                await self._update_run(step, save=save)
                saved_at = monotonic() if save else saved_at
        return report

    async def _next_users(self, only_user: object, cursor: str | None) -> list[str]:
        if isinstance(only_user, str):
            return [only_user] if cursor is None else []
        return await self._record.backlog.users(after=cursor, limit=_PAGE)

    async def _update_run(self, fields: Mapping[str, object], *, save: bool = True) -> None:
        """Updates the run; `save` is False for a step that can be repeated without harm."""
        assert self._run is not None  # noqa: S101 - a run has started
        self._run = self._run.model_copy(update={**fields, "updated_at": self._now()})
        if save:
            await self._record.runs.save(self._run)
