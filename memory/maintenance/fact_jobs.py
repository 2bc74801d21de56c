"""The nightly, weekly and monthly jobs over everybody's facts, on their schedules or on request (002 §5)."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

import structlog
from typing_extensions import override

from ..jobs.cron import Schedule
from ..jobs.user_job import UserJob
from ..ports.jobs import MaintenanceKind, MaintenanceService, PipelineRun
from ..ports.models.summaries import SummaryWriter
from ..ports.stores.coordination import Locks
from ..ports.stores.record import SystemOfRecord
from ..tiers.summaries import refresh_summaries
from ..values.base import utc_now
from ..values.errors import StoreUnavailable, Unavailable
from .decay import MaintenanceRules
from .merging import SimilarFacts, merge_duplicates, merge_similar
from .reports import COUNTED, MaintenanceReport, count_facts
from .steps import archive_decayed, change_confidence, delete_orphans, prune_uses, queue_embeddings, rebuild_graph

LOCK = "fact-maintenance"
PIPELINES: Mapping[MaintenanceKind, str] = {kind: f"facts_{kind.value}" for kind in MaintenanceKind}
_log = structlog.get_logger(__name__)

ConsolidatePersonas = Callable[[str, datetime], Awaitable[int]]
FindSimilar = Callable[[], Awaitable[SimilarFacts | None]]
"""Finds similar facts with the live encoder; None where no bands are known for it."""


class FactMaintenance:
    """What the jobs do to one user's facts.

    Args:
        record: Stores the facts.
        writer: Writes summaries.
        rules: Thresholds.
        similar: For the weekly job; None leaves similar facts apart.
        personas: Consolidates the personas of a user in the nightly job, and says how many traits are gone.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        writer: SummaryWriter,
        rules: MaintenanceRules | None = None,
        similar: FindSimilar | None = None,
        personas: ConsolidatePersonas | None = None,
    ) -> None:
        self.record = record
        self._writer = writer
        self._rules = rules or MaintenanceRules()
        self._similar = similar
        self._personas = personas

    async def run(self, kind: MaintenanceKind, user_id: str, *, now: datetime) -> MaintenanceReport:
        """Does one job for one user.

        Raises:
            StoreUnavailable: The record is down; what is done stays done, and doing it again changes nothing more.
        """
        work = {
            MaintenanceKind.NIGHTLY: self._nightly,
            MaintenanceKind.WEEKLY: self._weekly,
            MaintenanceKind.MONTHLY: self._monthly,
        }[kind]
        async with self.record.reading(user_id=user_id) as unit:
            before = await count_facts(unit)
        report = await work(user_id, now)
        async with self.record.reading(user_id=user_id) as unit:
            after = await count_facts(unit)
        return report.model_copy(update={"users": 1, "before": before, "after": after})

    async def _nightly(self, user_id: str, now: datetime) -> MaintenanceReport:
        merged = await merge_duplicates(self.record, user_id, now=now)
        promoted = await change_confidence(self.record, user_id, lambda fact: self._rules.promoted(fact, now))
        summaries = await refresh_summaries(self.record, user_id, writer=self._writer, now=now)
        traits = await self._personas(user_id, now) if self._personas else 0
        return MaintenanceReport(merged=merged, promoted=promoted, summaries=summaries, traits=traits)

    async def _weekly(self, user_id: str, now: datetime) -> MaintenanceReport:
        return MaintenanceReport(
            decayed=await change_confidence(self.record, user_id, lambda fact: self._rules.decayed(fact, now)),
            archived=await archive_decayed(self.record, user_id, rules=self._rules, now=now),
            compressed=await self._compress(user_id, now),
            orphans=await delete_orphans(self.record, user_id, rules=self._rules, now=now),
            uses=await prune_uses(self.record, user_id, rules=self._rules, now=now),
        )

    async def _monthly(self, user_id: str, now: datetime) -> MaintenanceReport:
        return MaintenanceReport(
            embeddings=await queue_embeddings(self.record, user_id),
            edges=await rebuild_graph(self.record, user_id, now=now),
        )

    async def _compress(self, user_id: str, now: datetime) -> int:
        try:
            similar = await self._similar() if self._similar else None
            if similar is None:
                return 0
            return await merge_similar(self.record, user_id, similar=similar, rules=self._rules, now=now)
        except StoreUnavailable:
            raise
        except Unavailable as error:  # the encoder: next week will do
            _log.warning("similar_facts_postponed", error=error.message)
            return 0


class FactJob(UserJob[MaintenanceReport]):
    """One of the jobs (see `UserJob`); all share a lock.

    Args:
        kind: Which job.
        facts: What it does to one user's facts.
        locks: Keeps the jobs from working at once.
        schedule: When it is due; None for on request only.
        now: The clock.
    """

    def __init__(
        self,
        *,
        kind: MaintenanceKind,
        facts: FactMaintenance,
        locks: Locks,
        schedule: Schedule | None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(
            pipeline=PIPELINES[kind],
            title="A job over facts",
            lock=LOCK,
            report=MaintenanceReport,
            record=facts.record,
            locks=locks,
            schedule=schedule,
            now=now,
        )
        self._kind = kind
        self._facts = facts

    async def start(self, *, user_id: str | None = None) -> PipelineRun:
        """See `MaintenanceService.start`."""
        return await self._start(user_id=user_id)

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics: the last run that this process knows, and when the next is due."""
        return self._figures(self._pipeline, COUNTED)

    @override
    async def _work_on(self, user_id: str, run: PipelineRun) -> MaintenanceReport:
        return await self._facts.run(self._kind, user_id, now=run.started_at)

    @override
    async def _finish(self, run: PipelineRun, report: MaintenanceReport) -> None:
        """002's VACUUM ANALYZE, after the month's work on everybody."""
        if self._kind is MaintenanceKind.MONTHLY and run.input["user_id"] is None:
            await self._record.purge()


class FactJobs(MaintenanceService):
    """The three jobs.

    Args:
        facts: What they do to one user's facts.
        locks: Keeps them from working at once.
        schedules: When each is due; a job without one is done on request only.
        now: The clock.
    """

    def __init__(
        self,
        *,
        facts: FactMaintenance,
        locks: Locks,
        schedules: Mapping[MaintenanceKind, Schedule | None],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.jobs = {
            kind: FactJob(kind=kind, facts=facts, locks=locks, schedule=schedules.get(kind), now=now)
            for kind in MaintenanceKind
        }

    @override
    async def start(self, kind: MaintenanceKind, *, user_id: str | None = None) -> PipelineRun:
        return await self.jobs[kind].start(user_id=user_id)

    @override
    async def last_run(self, kind: MaintenanceKind) -> PipelineRun | None:
        return await self.jobs[kind].last_run()

    def begin(self) -> None:
        """Starts watching the schedules, in the background."""
        for job in self.jobs.values():
            job.begin()

    def figures(self) -> dict[str, float | str]:
        """For `/health/detailed` and the metrics."""
        return {name: value for job in self.jobs.values() for name, value in job.figures().items()}

    async def close(self) -> None:
        """Stops runs in progress; the next checks of the schedules continue them."""
        for job in self.jobs.values():
            await job.close()
