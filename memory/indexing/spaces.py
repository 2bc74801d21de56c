"""The spaces of vectors that there are, as the system of record says, and those who follow it (DESIGN §8)."""

import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import structlog
from typing_extensions import override

from ..ports.generations import Generations, VectorModel, VectorSpace, VectorSpaces
from ..ports.jobs import RunLog
from ..ports.language import Encoder
from ..ports.vectors import VectorIndex
from ..values.errors import StoreUnavailable
from .reembedding_state import generations_of, latest_run

T = TypeVar("T")
_log = structlog.get_logger(__name__)


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
