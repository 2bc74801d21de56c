"""What a run of re-embedding records: from it alone every process tells which model is live (DESIGN §8).

The run's row in the system of record is the one place that says so, and it is replaced whole: a switch is one write.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from ..ports.generations import Generations, VectorModel
from ..ports.jobs import PipelineRun, RunLog, RunState
from ..values.ids import new_id

PIPELINE = "reembedding"


class Phase(StrEnum):
    """How far a change of the model is."""

    FILLING = "filling"
    VERIFYING = "verifying"
    SWITCHED = "switched"
    FINISHING = "finishing"
    FINISHED = "finished"
    ROLLING_BACK = "rolling_back"
    ROLLED_BACK = "rolled_back"


BEFORE_SWITCH = frozenset({Phase.FILLING, Phase.VERIFYING})
_BACK = frozenset({Phase.ROLLING_BACK, Phase.ROLLED_BACK})


def first_generation(model: VectorModel, *, at: datetime) -> PipelineRun:
    """What is recorded before the model was ever changed: from then on, settings no longer say which one is live."""
    return _run({"from": None, "to": model.model_dump()}, Phase.FINISHED, RunState.DONE, total=0, at=at)


def new_run(source: VectorModel, target: VectorModel, *, total: int, at: datetime) -> PipelineRun:
    """A change of the model that begins."""
    given = {"from": source.model_dump(), "to": target.model_dump()}
    return _run(given, Phase.FILLING, RunState.RUNNING, total=total, at=at)


def phase_of(run: PipelineRun) -> Phase:
    """How far it is."""
    return Phase(str(run.output["phase"]))


def source_of(run: PipelineRun) -> VectorModel | None:
    """The model before; None for the first generation."""
    source = run.input["from"]
    return None if source is None else VectorModel.model_validate(source)


def target_of(run: PipelineRun) -> VectorModel:
    """The model that is moved to."""
    return VectorModel.model_validate(run.input["to"])


def generations_of(run: PipelineRun) -> Generations:
    """Which models' vectors there are, by what the last run says."""
    phase, source, target = phase_of(run), source_of(run), target_of(run)
    if source is None:
        return Generations(live=target)
    if phase in BEFORE_SWITCH:
        return Generations(live=source, other=target)
    if phase in _BACK:
        return Generations(live=source)
    return Generations(live=target, other=source if phase is Phase.SWITCHED else None)


async def latest_run(runs: RunLog) -> PipelineRun | None:
    """The last run, the first generation included.

    Raises:
        StoreUnavailable: The record cannot be read.
    """
    return next(iter(await runs.latest(PIPELINE)), None)


def _run(given: Mapping[str, object], phase: Phase, state: RunState, *, total: int, at: datetime) -> PipelineRun:
    return PipelineRun.model_validate(
        {
            "run_id": new_id(),
            "pipeline": PIPELINE,
            "state": state,
            "input": given,
            "output": {"phase": phase.value},
            "total": total,
            "started_at": at,
            "updated_at": at,
            "ended_at": at if state is RunState.DONE else None,
        }
    )
