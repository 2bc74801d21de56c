"""Jobs over everybody's memory: their recorded runs (004 §11.4, DESIGN §4), and the roles that start them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from pydantic import JsonValue

from ..values.access.secrets import masked_fields, masked_text
from ..values.base import Timestamp, Value
from .stores.vectors import Collection


class RunState(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nobody works on the run any more."""
        return self not in (RunState.QUEUED, RunState.RUNNING)

    @property
    def status(self) -> "RunStatus":
        """The state as it is shown."""
        return RunStatus.COMPLETED if self is RunState.DONE else RunStatus(self.value)


class RunStatus(StrEnum):
    """The state of a run in the words of 004 §11.4."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def state(self) -> RunState:
        """The state that is shown so."""
        return RunState.DONE if self is RunStatus.COMPLETED else RunState(self.value)


class PipelineRun(Value):
    """One run of a job.

    Args:
        pipeline: The name of the job.
        app: The app whose run it is; None for the service's own.
        input: The arguments of the run.
        output: The results so far.
        cursor: Position behind which an interrupted run continues.
        total: Number of users or items when the run began.
        done: How many of these are done.
        error: Why the run failed or where it was cancelled; what it waits for while it runs.
        stack: The stack of the error that ended it, whole.
        attempts: How often work on it has begun, after its process was killed for example.
        retry_of: The run that this one repeats.
        queued_at: When it was asked for, where work did not begin at once.
        started_at: When work began; of a queued run, when it was asked for.
        cancel_requested: Whether it is to be cancelled; only `RunLog.request_cancel` changes it.
        alive_until: Until when its process counts as alive; only `RunLog.lease` changes it, None where it has no lease.
    """

    run_id: str
    pipeline: str
    app: str | None = None
    state: RunState = RunState.RUNNING
    input: dict[str, JsonValue] = {}
    output: dict[str, JsonValue] = {}
    cursor: str | None = None
    total: int = 0
    done: int = 0
    error: str | None = None
    stack: str | None = None
    attempts: int = 1
    retry_of: str | None = None
    queued_at: Timestamp | None = None
    started_at: Timestamp
    updated_at: Timestamp
    ended_at: Timestamp | None = None
    cancel_requested: bool = False
    alive_until: Timestamp | None = None

    @property
    def recorded_at(self) -> Timestamp:
        """When the run was recorded first: the order in which runs are listed."""
        return self.queued_at or self.started_at

    @property
    def duration(self) -> timedelta | None:
        """How long it took; None for one that has not ended."""
        return None if self.ended_at is None else max(self.ended_at - self.started_at, timedelta())

    def without_secrets(self) -> "PipelineRun":
        """The run without what looks like a password, a key or a token, as it is shown."""
        fields = {"input": masked_fields(self.input), "output": masked_fields(self.output)}
        return self.with_masked_error().model_copy(update=fields)

    def with_masked_error(self) -> "PipelineRun":
        """The run as it is stored: what libraries wrote into error and stack is kept without secrets."""
        masked = {"error": self.error and masked_text(self.error), "stack": self.stack and masked_text(self.stack)}
        return self.model_copy(update=masked)


class RunPosition(NamedTuple):
    """A place in the list of runs."""

    recorded_at: datetime
    run_id: str

    @classmethod
    def of(cls, run: PipelineRun) -> "RunPosition":
        """The place of a run."""
        return cls(run.recorded_at, run.run_id)


@dataclass(frozen=True)
class RunQuery:
    """Which runs are meant.

    Args:
        pipelines: Of these jobs; None for all.
        states: In these states; None for all.
        since: Recorded at this time or later.
        until: Recorded before this time.
        after: Behind this place of the list.
        limit: At most so many.
    """

    pipelines: Sequence[str] | None = None
    states: Sequence[RunState] | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: RunPosition | None = None
    limit: int = 100


class RunTotal(Value):
    """The runs of a job in a state: their number, and how many seconds those took that have ended."""

    pipeline: str
    state: RunState
    count: int
    seconds: float


class RunLog(ABC):
    """Runs of all jobs; error and stack are stored without secrets (`PipelineRun.with_masked_error`)."""

    @abstractmethod
    async def save(self, run: PipelineRun) -> None:
        """Inserts or replaces by `run_id`, but for `cancel_requested` and `alive_until`."""

    @abstractmethod
    async def add(self, runs: Sequence[PipelineRun]) -> None:
        """Inserts those runs of whose ids there are none, at once."""

    @abstractmethod
    async def get(self, run_id: str) -> PipelineRun | None:
        """The run of this id."""

    @abstractmethod
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        """The latest runs of a job by `recorded_at`, latest first."""

    @abstractmethod
    async def find(self, query: RunQuery, *, app: str | None) -> list[PipelineRun]:
        """Runs by `recorded_at` and id, latest first.

        Args:
            query: Which.
            app: Only those of this app; None for those of all apps and of the service.
        """

    @abstractmethod
    async def totals(self, *, app: str | None) -> list[RunTotal]:
        """The number of runs of each job and state; `app` as in `find`."""

    @abstractmethod
    async def lease(
        self, run_id: str, *, holder: str, now: datetime, until: datetime, take_over: bool = False
    ) -> bool | None:
        """Takes or renews the lease on a run: whoever has it works on the run.

        Args:
            run_id: The run.
            holder: Who takes it.
            now: The time: a lease that has ended by now is free.
            until: When it ends unless it is renewed.
            take_over: Take it from another holder, by a caller that has a lock on the whole job.

        Returns:
            Whether the run is to be cancelled; None where another has the lease, or there is no such run.
        """

    @abstractmethod
    async def request_cancel(self, run_id: str) -> None:
        """Asks whoever works on the run to stop at the next point where it can; no matter for one that is over."""

    @abstractmethod
    async def delete(self, run_ids: Sequence[str]) -> None:
        """Deletes runs with their leases; unknown ids are left alone."""


class RunControl(ABC):
    """What can be done about a run of any kind."""

    @abstractmethod
    async def retry(self, run_id: str, *, app: str | None) -> PipelineRun:
        """Starts or queues a run with the same input as one that failed or was cancelled; it names that one.

        Args:
            run_id: The run to repeat.
            app: Whose it has to be; None for any app's and the service's own.

        Raises:
            NotFound: There is no such run.
            Conflict: It cannot be repeated, or another run of its job is in progress.
        """

    @abstractmethod
    async def cancel(self, run_id: str, *, app: str | None) -> PipelineRun:
        """Cancels a run that waits, and asks one in progress to stop at the next point where it can.

        Args:
            run_id: The run.
            app: As in `retry`.

        Raises:
            NotFound: There is no such run.
            Conflict: It is over, or cannot be cancelled any more.
        """


class ReviewService(ABC):
    """Reviews by the rules of 001 §4.1; one run at a time over all processes."""

    @abstractmethod
    async def start(self, *, user_id: str | None = None, dry_run: bool = False) -> PipelineRun:
        """Starts a review of one user or of all and returns at once; the run continues in the background.

        Args:
            user_id: The user to review; None for all users.
            dry_run: Report what a review would do, without changes.

        Raises:
            Conflict: A run is in progress.
            Unavailable: It is unknown whether a run is in progress.
        """

    @abstractmethod
    async def last_run(self) -> PipelineRun | None:
        """The run in progress, else the last one that is recorded."""


class MaintenanceKind(StrEnum):
    """The jobs over facts (002 §5)."""

    NIGHTLY = "nightly"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class MaintenanceService(ABC):
    """Keeps facts in order by the jobs of 002 §5; one run at a time over all jobs and processes."""

    @abstractmethod
    async def start(self, kind: MaintenanceKind, *, user_id: str | None = None) -> PipelineRun:
        """Starts a job for one user or for all and returns at once; the run continues in the background.

        Raises:
            Conflict: A run of one of the jobs is in progress.
            Unavailable: It is unknown whether a run is in progress.
        """

    @abstractmethod
    async def last_run(self, kind: MaintenanceKind) -> PipelineRun | None:
        """The run of this job that is in progress, else the last one that is recorded."""


class CollectionReport(Value):
    """How one collection of the index compares with the record; counts of items.

    Args:
        checked: Items of the record that were looked at.
        missing: They should be in the index and are not.
        stale: The index holds them as they once were.
        orphaned: The index holds them, the record does not, or no longer wants them there.
        pending: They differ, and wait in the outbox: the learner is about to put that right by itself.
        mended: Of the first three, those that were put right; when rebuilding, all that were indexed again.
    """

    checked: int = 0
    missing: int = 0
    stale: int = 0
    orphaned: int = 0
    pending: int = 0
    mended: int = 0


class IndexReport(Value):
    """The differences between the index and the record, over all collections."""

    users: int = 0
    collections: dict[Collection, CollectionReport] = {}

    @property
    def checked(self) -> int:
        """Items of the record that were looked at, over all collections."""
        return sum(part.checked for part in self.collections.values())

    @property
    def wrong(self) -> int:
        """Items that are missing, stale or orphaned, over all collections."""
        return sum(part.missing + part.stale + part.orphaned for part in self.collections.values())

    @property
    def mended(self) -> int:
        """Items that were put right, over all collections."""
        return sum(part.mended for part in self.collections.values())


class IndexOperation(StrEnum):
    """Operations on the whole index."""

    VERIFY = "verify"
    MEND = "mend"
    REBUILD = "rebuild"


class IndexRun(Value):
    """One run of an operation on the index, in the background.

    `total` is the number of items in the record when the run began, or the number checked so far if that is larger;
    `report.checked` is the number of items done.
    """

    run_id: str
    operation: IndexOperation
    state: RunState = RunState.RUNNING
    total: int = 0
    report: IndexReport = IndexReport()
    error: str | None = None
    started_at: Timestamp
    ended_at: Timestamp | None = None


class IndexMaintenance(ABC):
    """Starts operations on the index; one at a time over all processes."""

    @abstractmethod
    async def start(self, operation: IndexOperation) -> IndexRun:
        """Starts an operation and returns at once.

        Raises:
            Conflict: A run is in progress.
            Unavailable: It is unknown whether a run is in progress.
        """

    @abstractmethod
    async def last_run(self) -> IndexRun | None:
        """The run in progress, else the last one since the learner started."""
