"""The review of everybody's memory, as those see it who start it or look at it (001 §4.2)."""

from abc import ABC, abstractmethod

from .runs import PipelineRun


class ReviewService(ABC):
    """Reviews by the rules of 001 §4.1; one run at a time over all processes."""

    @abstractmethod
    async def start(self, *, user_id: str | None = None, dry_run: bool = False) -> PipelineRun:
        """Starts a review of one user or of all and returns at once; the run goes on whoever watches.

        Args:
            user_id: Whose memory; everybody's where not given.
            dry_run: Say what would be done and change nothing.

        Raises:
            Conflict: One is under way.
            Unavailable: Whether one is under way cannot be told.
        """

    @abstractmethod
    async def last_run(self) -> PipelineRun | None:
        """The run under way, else the last one that is recorded."""
