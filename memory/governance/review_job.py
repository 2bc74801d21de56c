"""The weekly review: everybody's memory, on a schedule or by command, by one process at a time (001 §4.2, §4.3)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

import structlog

from ..jobs.cron import Schedule
from ..jobs.tasks import end, logs_defect
from ..ports.coordination import Locks
from ..ports.jobs import PipelineRun, ReviewService, RunState
from ..ports.record import SystemOfRecord
from ..values.base import utc_now
from ..values.errors import Conflict, JiyiError, StoreUnavailable
from ..values.ids import new_id
from .review import ReviewReport, review_user
from .rules import ReviewRules

PIPELINE = "memory_review"
LOCK = "memory-review"
_USERS_A_PAGE = 256
_LOOK_S = 30.0
_log = structlog.get_logger(__name__)


class ReviewJob(ReviewService):
    """Goes through all users in the order of their ids and records how far it is after each.

    A scheduled run that broke off is gone on with when the schedule is looked at next, by whichever process has the
    lock; of one that a person started, the record says that it broke off.

    Args:
        record: Keeps what is reviewed, and the runs.
        locks: Says whether another process is at it.
        rules: Thresholds.
        schedule: When everybody is reviewed; None for never by itself.
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
        self._begun_at = now()
        self._run: PipelineRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begins to look at the schedule, in the background."""
        self._looking = asyncio.get_running_loop().create_task(self._look_forever())

    async def start(self, *, user_id: str | None = None, dry_run: bool = False) -> PipelineRun:
        """See `ReviewService.start`."""
        if self._task and not self._task.done():
            raise Conflict("a review is under way already")
        started: asyncio.Future[PipelineRun] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold_and_work(user_id, dry_run, started))
        either: list[asyncio.Future[Any]] = [self._task, started]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            await self._task  # raises what kept it from starting
        self._task.add_done_callback(logs_defect("review_broke"))
        return started.result()

    async def last_run(self) -> PipelineRun | None:
        """See `ReviewService.last_run`."""
        if self._run is not None and self._run.state is RunState.RUNNING:
            return self._run
        return next(iter(await self._record.runs.latest(PIPELINE)), None)

    async def run_if_due(self) -> PipelineRun | None:
        """Reviews everybody, to the end, if it is time and no other process does; goes on with a run that broke off.

        Raises:
            Unavailable: A store is down; the next call goes on.
        """
        if self._schedule is None or (self._task and not self._task.done()):
            return None
        if not await self._due():
            return None
        async with self._locks.held(LOCK) as ours:
            if not ours:
                return None
            due = await self._due()  # another process may just have done it
            if not due:
                return None
            broken_off = due if isinstance(due, PipelineRun) else None
            await self._work(broken_off or await self._new_run(None, dry_run=False, scheduled=True))
        return self._run

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the last run that this process knows of, and when the next is due."""
        shown: dict[str, float | str] = {}
        if self._schedule is not None:
            shown["review_next"] = self._schedule.following(self._now()).isoformat()
        if self._run is not None:
            counts = {f"review_{name}": self._run.output.get(name, 0) for name in ("archived", "marked", "kept")}
            shown |= {name: float(str(count)) for name, count in counts.items()}
            shown |= {
                "review_run": self._run.state.value,
                "review_started": self._run.started_at.isoformat(),
                "review_users": self._run.done,
                "review_users_total": self._run.total,
            }
        return shown

    async def close(self) -> None:
        """Ends what is under way; the next look at the schedule goes on with it."""
        await end(self._looking)
        await end(self._task)

    async def _look_forever(self) -> None:
        while True:
            try:
                if self._run is None:
                    self._run = await self._recorded()
                await self.run_if_due()
            except JiyiError as error:
                _log.warning("review_postponed", error=error.message)
            await asyncio.sleep(_LOOK_S)

    async def _recorded(self) -> PipelineRun | None:
        """The last run that is recorded; where it says that it is under way and nobody is at it, it broke off."""
        last = next(iter(await self._record.runs.latest(PIPELINE)), None)
        if last is None or last.state is not RunState.RUNNING:
            return last
        async with self._locks.held(LOCK) as ours:
            if ours:
                last = last.model_copy(update={"state": RunState.FAILED, "error": "it was broken off"})
                await self._record.runs.save(last)
        return last

    async def _due(self) -> PipelineRun | bool:
        """A run of everybody that broke off, or whether a new one is due."""
        if self._schedule is None:
            return False
        runs = await self._record.runs.latest(PIPELINE, limit=20)
        everybody = [run for run in runs if run.input.get("scheduled")]
        last = everybody[0] if everybody else None
        if last is not None and last.state is not RunState.DONE:
            return last
        return self._schedule.previous(self._now()) > (last.started_at if last else self._begun_at)

    async def _hold_and_work(self, user_id: str | None, dry_run: bool, started: "asyncio.Future[PipelineRun]") -> None:
        async with self._locks.held(LOCK) as ours:
            if not ours:
                raise Conflict("another process is reviewing")
            run = await self._new_run(user_id, dry_run=dry_run, scheduled=False)
            started.set_result(run)
            try:
                await self._work(run)
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

    async def _work(self, run: PipelineRun) -> None:
        """Goes through the users from where the run is, and records each step; a rule's clock is that of its start."""
        self._run = run.model_copy(update={"state": RunState.RUNNING, "error": None, "ended_at": None})
        only = run.input["user_id"]
        dry_run = bool(run.input["dry_run"])
        report = ReviewReport.model_validate(run.output)
        try:
            while users := await self._users(only, self._run.cursor):
                for user_id in users:
                    found = await review_user(
                        self._record, user_id, rules=self._rules, now=run.started_at, dry_run=dry_run
                    )
                    report = report.plus(found)
                    step = {"cursor": user_id, "done": self._run.done + 1, "output": report.model_dump(mode="json")}
                    await self._change(step, keep=bool(found.items) or user_id == users[-1])
            await self._change({"state": RunState.DONE, "ended_at": self._now()})
            _log.info("memory_reviewed", **report.model_dump(exclude={"items"}), dry_run=dry_run)
        except BaseException as error:
            why = error.message if isinstance(error, JiyiError) else "it was broken off"
            self._run = self._run.model_copy(update={"state": RunState.FAILED, "error": why})
            with suppress(StoreUnavailable):
                await asyncio.shield(self._record.runs.save(self._run))
            raise

    async def _users(self, only: object, cursor: str | None) -> list[str]:
        if isinstance(only, str):
            return [only] if cursor is None else []
        return await self._record.backlog.users(after=cursor, limit=_USERS_A_PAGE)

    async def _change(self, fields: Mapping[str, object], *, keep: bool = True) -> None:
        """Goes on; `keep` is False for a step that may be done again without harm."""
        assert self._run is not None  # noqa: S101 - a run is under way
        self._run = self._run.model_copy(update={**fields, "updated_at": self._now()})
        if keep:
            await self._record.runs.save(self._run)
