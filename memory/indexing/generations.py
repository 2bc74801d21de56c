"""The generations of vectors that the last run of re-embedding recorded, and their spaces (DESIGN §8).

Only the run's row in the system of record decides which model is live, so a switch is one write.
`memory.ports.stores.generations` defines generations and spaces.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

import structlog
from typing_extensions import override

from ..ports.jobs import PipelineRun, RunLog, RunState
from ..ports.models.language import Encoder
from ..ports.stores.generations import Generations, VectorModel, VectorSpace, VectorSpaces
from ..ports.stores.vectors import VectorIndex
from ..values.errors import StoreUnavailable
from ..values.ids import new_id

T = TypeVar("T")
_log = structlog.get_logger(__name__)
PIPELINE = "reembedding"


class Phase(StrEnum):
    """The phases of a change of the model."""

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
    """The run that records the first model; once it exists, the settings no longer decide which model is live."""
    return _run({"from": None, "to": model.model_dump()}, Phase.FINISHED, RunState.DONE, total=0, at=at)


def new_run(source: VectorModel, target: VectorModel, *, total: int, at: datetime) -> PipelineRun:
    """The first state of a run that changes the model."""
    models = {"from": source.model_dump(), "to": target.model_dump()}
    return _run(models, Phase.FILLING, RunState.RUNNING, total=total, at=at)


def phase_of(run: PipelineRun) -> Phase:
    """The phase of a run."""
    return Phase(str(run.output["phase"]))


def source_of(run: PipelineRun) -> VectorModel | None:
    """The model that a run replaces; None for the first generation."""
    source = run.input["from"]
    return None if source is None else VectorModel.model_validate(source)


def target_of(run: PipelineRun) -> VectorModel:
    """The model that the run changes to."""
    return VectorModel.model_validate(run.input["to"])


def generations_of(run: PipelineRun) -> Generations:
    """The models that have vectors, according to the last run."""
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


def why_not_cancelled(run: PipelineRun) -> str | None:
    """Why a change of the model cannot be cancelled; None before searches have switched."""
    if phase_of(run) in BEFORE_SWITCH:
        return None
    return f"It is {phase_of(run).value.replace('_', ' ')}, which ends by itself; to go back: jiyi reembed --rollback"


def repeated(run: PipelineRun, *, at: datetime) -> PipelineRun:
    """Another run, which goes on where one stopped that failed or was cancelled."""
    return run.model_copy(
        update={
            "run_id": new_id(),
            "retry_of": run.run_id,
            "attempts": 1,
            "state": RunState.RUNNING,
            "error": None,
            "stack": None,
            "started_at": at,
            "updated_at": at,
            "ended_at": None,
            "cancel_requested": False,
        }
    )


class OneSpace(VectorSpaces):
    """A single space that never changes."""

    def __init__(self, *, encoder: Encoder, index: VectorIndex) -> None:
        self._space = VectorSpace(encoder, index)

    @override
    async def live(self) -> VectorSpace:
        return self._space

    @override
    async def written(self) -> Sequence[VectorSpace]:
        return (self._space,)


class RecordedSpaces(VectorSpaces):
    """The spaces that the last run of re-embedding left, read from the record at most once in `refresh_s`.

    While the record is unavailable, the last known spaces remain in use: a model that was live until a moment ago is
    kept up to date until a person finishes the change.

    Args:
        runs: The recorded runs.
        configured: The live model where no run is recorded.
        open_space: Opens the space of a model; called once for each model.
        refresh_s: Seconds until the record is read again.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self,
        *,
        runs: RunLog,
        configured: VectorModel,
        open_space: Callable[[VectorModel], VectorSpace],
        refresh_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runs = runs
        self._configured = configured
        self._open_space = open_space
        self._refresh_s = refresh_s
        self._clock = clock
        self._spaces: dict[str, VectorSpace] = {}
        self._known: Generations | None = None
        self._good_until = -float("inf")

    @override
    async def live(self) -> VectorSpace:
        return self.of((await self.generations()).live)

    @override
    async def written(self) -> Sequence[VectorSpace]:
        return [self.of(model) for model in (await self.generations()).written]

    async def generations(self) -> Generations:
        """The current generations.

        Raises:
            StoreUnavailable: The record cannot be read and has never been.
        """
        if self._clock() < self._good_until and self._known is not None:
            return self._known
        try:
            return await self.refresh()
        except StoreUnavailable:
            if self._known is None:
                raise
            return self._known

    async def refresh(self) -> Generations:
        """Reads the record now.

        Raises:
            StoreUnavailable: The record cannot be read.
        """
        run = await latest_run(self._runs)
        found = Generations(live=self._configured) if run is None else generations_of(run)
        if self._known is not None and found != self._known:
            _log.info("vector_generations", live=found.live.model_id, other=found.other and found.other.model_id)
        self._known = found
        self._good_until = self._clock() + self._refresh_s
        return found

    def of(self, model: VectorModel) -> VectorSpace:
        """The space of a model."""
        if model.model_id not in self._spaces:
            self._spaces[model.model_id] = self._open_space(model)
        return self._spaces[model.model_id]


class PerSpace(Generic[T]):
    """Keeps one object for each space, such as a retriever, and returns that of the live space.

    Args:
        spaces: Names the live space.
        make: Creates the object of a space; called once for each space.
    """

    def __init__(self, spaces: VectorSpaces, make: Callable[[VectorSpace], T]) -> None:
        self._spaces = spaces
        self._make = make
        self._made: dict[str, T] = {}

    async def current(self) -> T:
        """The object of the live space.

        Raises:
            StoreUnavailable: The record that names the live space cannot be read.
        """
        return self.of(await self._spaces.live())

    async def current_or(self, otherwise: VectorSpace) -> T:
        """The object of the live space; that of `otherwise` while the record cannot be read."""
        try:
            return await self.current()
        except StoreUnavailable:
            return self.of(otherwise)

    def of(self, space: VectorSpace) -> T:
        """The object of a space."""
        model_id = space.encoder.model_id
        if model_id not in self._made:
            self._made[model_id] = self._make(space)
        return self._made[model_id]
