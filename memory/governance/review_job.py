"""The weekly review of all users, on a schedule or on request, in one process at a time (001 §4.2, §4.3)."""

from collections.abc import Callable
from datetime import datetime

from typing_extensions import override

from ..jobs.cron import Schedule
from ..jobs.user_job import UserJob
from ..ports.jobs import PipelineRun, ReviewService
from ..ports.stores.coordination import Locks
from ..ports.stores.record import SystemOfRecord
from ..values.base import utc_now
from .review import ReviewReport, ReviewRules, review_user

PIPELINE = "memory_review"
LOCK = "memory-review"


class ReviewJob(UserJob[ReviewReport], ReviewService):
    """Reviews all users (see `UserJob`); the rules count from the run's start. Only the run of one user lists items.

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
        super().__init__(
            pipeline=PIPELINE,
            title="A review",
            lock=LOCK,
            report=ReviewReport,
            record=record,
            locks=locks,
            schedule=schedule,
            now=now,
        )
        self._rules = rules

    @override
    async def start(self, *, user_id: str | None = None, dry_run: bool = False) -> PipelineRun:
        return await self._start(user_id=user_id, dry_run=dry_run)

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the last run that this process knows, and when the next is due."""
        return self._figures("review", ("archived", "marked", "kept"))

    @override
    async def _work_on(self, user_id: str, run: PipelineRun) -> ReviewReport:
        dry_run = bool(run.input.get("dry_run"))
        report = await review_user(self._record, user_id, rules=self._rules, now=run.started_at, dry_run=dry_run)
        # A run over all users names nobody's memories; the log and each user's changes have the ids (001 §3.1, §4.2).
        return report if run.input["user_id"] is not None else report.model_copy(update={"items": ()})
