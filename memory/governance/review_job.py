"""The weekly review of all users, on a schedule or on request, in one process at a time (001 §4.2, §4.3)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import structlog
from typing_extensions import override

from ..jobs.cron import Schedule
from ..jobs.tasks import cancel, log_defect
from ..ports.coordination import Locks
from ..ports.jobs import PipelineRun, ReviewService, RunState
from ..ports.record import SystemOfRecord
from ..values.base import utc_now
from ..values.errors import Conflict, JiyiError, StoreUnavailable
from ..values.ids import new_id
from .review import ReviewReport, ReviewRules, review_user

PIPELINE = "memory_review"
LOCK = "memory-review"
_PAGE = 256
_CHECK_INTERVAL_S = 30.0
_INTERRUPTED = "it was interrupted"
_log = structlog.get_logger(__name__)


class ReviewJob(ReviewService):
    """Reviews all users in the order of their ids and records its progress after each.

    An interrupted scheduled run is continued at the next check of the schedule, by the process that gets the lock; an
    interrupted run that a person started is recorded as failed.

    Args:
        record: Stores what is reviewed, and the runs.
        locks: Keeps two processes from reviewing at once.
        rules: Thresholds.
        schedule: When all users are reviewed; None to review on request only.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        locks: Locks,
        rules: ReviewRules,
        schedule: Schedule | None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._record = record
        self._locks = locks
        self._rules = rules
        self._schedule = schedule
        self._now = now
        self._created_at = now()
        self._run: PipelineRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Starts watching the schedule, in the background."""
        self._watcher = asyncio.get_running_loop().create_task(self._watch_schedule())

    @override
    async def start(self, *, user_id: str | None = None, dry_run: bool = False) -> PipelineRun:
        if self._task and not self._task.done():
            raise Conflict("A review is running already.")
        started: asyncio.Future[PipelineRun] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._lock_and_run(user_id, dry_run, started))
        waiting: list[asyncio.Future[Any]] = [self._task, started]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            await self._task  # raises why it did not start
        self._task.add_done_callback(log_defect("review_crashed"))
        return started.result()

    @override
    async def last_run(self) -> PipelineRun | None:
        if self._run is not None and self._run.state is RunState.RUNNING:
            return self._run
        return next(iter(await self._record.runs.latest(PIPELINE)), None)

    async def run_if_due(self) -> PipelineRun | None:
        """Reviews all users if a review is due and no other process runs one; continues an interrupted run.

        Raises:
            Unavailable: A store is down; the next call continues.
        """
        if self._schedule is None or (self._task and not self._task.done()):
            return None
        if not await self._is_due():
            return None
        async with self._locks.held(LOCK) as acquired:
            if not acquired:
                return None
            due = await self._is_due()  # another process may just have finished one
            if not due:
                return None
            interrupted = due if isinstance(due, PipelineRun) else None
            await self._run_to_end(interrupted or await self._new_run(None, dry_run=False, scheduled=True))
        return self._run

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the last run that this process knows, and when the next is due."""
        figures: dict[str, float | str] = {}
        if self._schedule is not None:
            figures["review_next"] = self._schedule.following(self._now()).isoformat()
        if self._run is not None:
            counts = {f"review_{name}": self._run.output.get(name, 0) for name in ("archived", "marked", "kept")}
            figures |= {name: float(str(count)) for name, count in counts.items()}
            figures |= {
                "review_run": self._run.state.value,
                "review_started": self._run.started_at.isoformat(),
                "review_users": self._run.done,
                "review_users_total": self._run.total,
            }
        return figures

    async def close(self) -> None:
        """Stops a running review; the next check of the schedule continues it."""
        await cancel(self._watcher)
        await cancel(self._task)

    async def _watch_schedule(self) -> None:
        while True:
            try:
                if self._run is None:
                    self._run = await self._load_last_run()
                await self.run_if_due()
            except JiyiError as error:
                _log.warning("review_postponed", error=error.message)
            await asyncio.sleep(_CHECK_INTERVAL_S)

    async def _load_last_run(self) -> PipelineRun | None:
        """The last recorded run; one recorded as running while no process holds the lock is recorded as failed."""
        last = next(iter(await self._record.runs.latest(PIPELINE)), None)
        if last is None or last.state is not RunState.RUNNING:
            return last
        async with self._locks.held(LOCK) as acquired:
            if acquired:
                last = last.model_copy(update={"state": RunState.FAILED, "error": _INTERRUPTED})
                await self._record.runs.save(last)
        return last

    async def _is_due(self) -> PipelineRun | bool:
        """The interrupted scheduled run, or whether a new one is due."""
        if self._schedule is None:
            return False
        runs = await self._record.runs.latest(PIPELINE, limit=20)
        last = next((run for run in runs if run.input.get("scheduled")), None)
        if last is not None and last.state is not RunState.DONE:
            return last
        return self._schedule.previous(self._now()) > (last.started_at if last else self._created_at)

    async def _lock_and_run(self, user_id: str | None, dry_run: bool, started: "asyncio.Future[PipelineRun]") -> None:
        async with self._locks.held(LOCK) as acquired:
            if not acquired:
                raise Conflict("A review is running in another process.")
            run = await self._new_run(user_id, dry_run=dry_run, scheduled=False)
            started.set_result(run)
            try:
                await self._run_to_end(run)
            except StoreUnavailable as error:
                _log.error("review_failed", error=error.message)

    async def _new_run(self, user_id: str | None, *, dry_run: bool, scheduled: bool) -> PipelineRun:
        now = self._now()
        total = 1 if user_id is not None else int((await self._record.backlog.counts())["users"])
        run = PipelineRun(
            run_id=new_id(),
            pipeline=PIPELINE,
            input={"user_id": user_id, "dry_run": dry_run, "scheduled": scheduled},
            output=ReviewReport().model_dump(mode="json"),
            total=total,
            started_at=now,
            updated_at=now,
        )
        self._run = run
        await self._record.runs.save(run)
        return run

    async def _run_to_end(self, run: PipelineRun) -> None:
        """Reviews the users after the run's cursor and records each step; the rules count from the run's start."""
        self._run = run.model_copy(update={"state": RunState.RUNNING, "error": None, "ended_at": None})
        only_user = run.input["user_id"]
        dry_run = bool(run.input["dry_run"])
        report = ReviewReport.model_validate(run.output)
        try:
            while users := await self._next_users(only_user, self._run.cursor):
                for user_id in users:
                    reviewed = await review_user(
                        self._record, user_id, rules=self._rules, now=run.started_at, dry_run=dry_run
                    )
                    report = report.plus(reviewed)
                    step = {"cursor": user_id, "done": self._run.done + 1, "output": report.model_dump(mode="json")}
                    await self._update_run(step, save=bool(reviewed.items) or user_id == users[-1])
            await self._update_run({"state": RunState.DONE, "ended_at": self._now()})
            _log.info("memory_reviewed", **report.model_dump(exclude={"items"}), dry_run=dry_run)
        except BaseException as error:
            reason = error.message if isinstance(error, JiyiError) else _INTERRUPTED
            self._run = self._run.model_copy(update={"state": RunState.FAILED, "error": reason})
            with suppress(StoreUnavailable):
                await asyncio.shield(self._record.runs.save(self._run))
            raise

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
