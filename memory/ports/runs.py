"""Runs of jobs over everybody's memory, recorded so that they can be shown and gone on with (004 §11.4, DESIGN §4)."""

from abc import ABC, abstractmethod

from pydantic import JsonValue

from ..values.base import Timestamp, Value
from .maintenance import RunState


class PipelineRun(Value):
    """One run of a job.

    Args:
        pipeline: Which job.
        input: What it was asked to do.
        output: What it has done so far.
        cursor: How far it is; a run that broke off goes on from there.
        total: How many users there were when it began.
        done: How many of them it has been through.
        error: What ended it early.
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
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        """The latest runs of a job by `started_at`, latest first."""
