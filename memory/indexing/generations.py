"""Which models' vectors there are, as the last run of re-embedding says, and the spaces that follow it (DESIGN §8).

The run's row in the system of record is the one place that says which model is live, and it is replaced whole: a switch
is one write. `memory.ports.generations` says what a generation and a space are.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

import structlog
from typing_extensions import override

from ..ports.generations import Generations, VectorModel, VectorSpace, VectorSpaces
from ..ports.jobs import PipelineRun, RunLog, RunState
from ..ports.language import Encoder
from ..ports.vectors import VectorIndex
from ..values.errors import StoreUnavailable
from ..values.ids import new_id

T = TypeVar("T")
_log = structlog.get_logger(__name__)
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


class OneSpace(VectorSpaces):
    """One encoder and one index, for good."""

    def __init__(self, *, encoder: Encoder, index: VectorIndex) -> None:
        self._space = VectorSpace(encoder, index)

    @override
    async def live(self) -> VectorSpace:
        return self._space

    @override
    async def written(self) -> Sequence[VectorSpace]:
        return (self._space,)


class RecordedSpaces(VectorSpaces):
    """The spaces that the last run of re-embedding left, looked up at most once in `refresh_s`.

    While the record is away, what was known last goes on to hold: a model that was live until a moment ago is kept up
    to date until a person finishes the change.

    Args:
        runs: Where it is recorded.
        configured: What is live where nothing is recorded.
        open_space: Makes the space of a model; called once for each.
        refresh_s: How long an answer holds.
        clock: Seconds that never go back.
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
        """Which models' vectors there are.

        Raises:
            StoreUnavailable: The record cannot be read and could not be before.
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
        """Looks now.

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
    """What is made anew for each space, because it belongs to one model: the one of the live space is used.

    Args:
        spaces: Which one is live.
        make: Makes what belongs to a space; called once for each.
    """

    def __init__(self, spaces: VectorSpaces, make: Callable[[VectorSpace], T]) -> None:
        self._spaces = spaces
        self._make = make
        self._made: dict[str, T] = {}

    async def current(self) -> T:
        """That of the live space.

        Raises:
            StoreUnavailable: Which one is live cannot be told.
        """
        return self.of(await self._spaces.live())

    async def current_or(self, otherwise: VectorSpace) -> T:
        """That of the live space; that of another one while the record cannot say which is live."""
        try:
            return await self.current()
        except StoreUnavailable:
            return self.of(otherwise)

    def of(self, space: VectorSpace) -> T:
        """That of a space."""
        model_id = space.encoder.model_id
        if model_id not in self._made:
            self._made[model_id] = self._make(space)
        return self._made[model_id]
