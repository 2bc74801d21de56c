"""Looking after the vector index: what verification found, how far a run is, and the role that starts one."""

from abc import ABC, abstractmethod
from enum import StrEnum

from ..values.base import Timestamp, Value
from .vectors import Collection


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
    """How the whole index compares with the record."""

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
    """What can be done to the index as a whole."""

    VERIFY = "verify"
    MEND = "mend"
    REBUILD = "rebuild"


class RunState(StrEnum):
    """How a run is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class IndexRun(Value):
    """One run of an operation: it goes on by itself, whoever watches.

    `total` is how many items the record held when it began, or as many as were looked at where that is more by now;
    `report.checked` is how many of them are done.
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
            Conflict: One is under way.
            Unavailable: Whether one is under way cannot be told.
        """

    @abstractmethod
    async def last_run(self) -> IndexRun | None:
        """The run under way, else the last one since the learner started."""
