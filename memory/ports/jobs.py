"""Jobs over everybody's memory: their recorded runs (004 §11.4, DESIGN §4), and the roles that start them."""

from abc import ABC, abstractmethod
from enum import StrEnum

from pydantic import JsonValue

from ..values.base import Timestamp, Value
from .vectors import Collection


class RunState(StrEnum):
    """The state of a run."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class PipelineRun(Value):
    """One run of a job.

    Args:
        pipeline: The name of the job.
        input: The arguments of the run.
        output: The results so far.
        cursor: Position behind which an interrupted run continues.
        total: Number of users or items when the run began.
        done: How many of these are done.
        error: Why the run failed.
    """

    run_id: str
    pipeline: str
    state: RunState = RunState.RUNNING
    input: dict[str, JsonValue] = {}
    output: dict[str, JsonValue] = {}
    cursor: str | None = None
    total: int = 0
    done: int = 0
    error: str | None = None
    started_at: Timestamp
    updated_at: Timestamp
    ended_at: Timestamp | None = None


class RunLog(ABC):
    """Runs of all jobs; no user's data."""

    @abstractmethod
    async def save(self, run: PipelineRun) -> None:
        """Inserts or replaces by `run_id`."""

    @abstractmethod
    async def get(self, run_id: str) -> PipelineRun | None:
        """The run of this id."""

    @abstractmethod
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        """The latest runs of a job by `started_at`, latest first."""


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
