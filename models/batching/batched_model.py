"""A trained model behind the shared batcher: its weights, its queue and its health (DESIGN §5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import structlog
from typing_extensions import override

from memory.ports.models.language import Priority
from memory.values.errors import ModelUnavailable

from .batcher import TokenBatcher
from .engine import BatchEngine, Outputs, OutputT, OutputT_co, PreparedT, memory_errors
from .queue import BatchLimits

InputT = TypeVar("InputT")
InputT_contra = TypeVar("InputT_contra", contravariant=True)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The identity of a loaded model, for `/health/detailed`.

    Attributes:
        checksum: SHA-256 of its weight file; the name of a model of the hub.
        dtype: The type in which its body computes: `bf16` or `fp32`.
    """

    checksum: str
    dtype: str


class TrainedModel(Protocol[InputT_contra, PreparedT, OutputT_co]):
    """The interface of the reader, the answer reader and the rerankers; safe to call from several threads."""

    def load(self) -> ModelFacts:
        """Reads the weights; raises `ModelUnavailable` where they are missing or broken."""
        ...

    def prepare(self, inputs: Sequence[InputT_contra], /) -> Sequence[PreparedT]:
        """Tokenises inputs in order."""
        ...

    def forward(self, prepared: Sequence[PreparedT], /) -> Sequence[OutputT_co]:
        """Computes prepared inputs in order."""
        ...


class BatchedModel(Generic[InputT, PreparedT, OutputT]):
    """A model behind a batcher; the constructor reads its weights.

    A failure to read them is logged and raised by `submit`, so that a service with a corrupt weight file still starts
    and works without that model.

    Args:
        component: The model's name in errors, logs and figures.
        model: The model.
        warm_up: An input that the constructor computes, so that the first caller does not wait for torch to start.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
    """

    def __init__(
        self,
        component: str,
        model: TrainedModel[InputT, PreparedT, OutputT],
        *,
        warm_up: InputT,
        limits: BatchLimits | None = None,
    ) -> None:
        self._component = component
        self._model = model
        self._failures = 0
        self._last_error = ""
        self._facts: dict[str, float | str] = {}
        self._batcher: TokenBatcher[PreparedT, OutputT] | None = None
        try:
            facts = model.load()
            model.forward(model.prepare([warm_up]))
        except ModelUnavailable as error:
            self._last_error = error.message
            _log.error("model_not_loaded", component=component, error=error.message)
            return
        self._facts = {"checksum": facts.checksum, "dtype": facts.dtype}
        self._batcher = TokenBatcher(_Engine(component, model), limits=limits)

    async def submit(self, inputs: Sequence[InputT], priority: Priority) -> list[OutputT]:
        """Computes inputs in order; inputs of several callers share batches.

        Raises:
            InvalidField: More inputs than the capacity of the queue.
            Overloaded: The queue is full.
            ModelUnavailable: The weights could not be read, or the engine failed.
        """
        if self._batcher is None:
            self._failures += 1
            raise ModelUnavailable(self._last_error, component=self._component)
        try:
            return await self._batcher.submit(inputs, self._model.prepare, priority=priority)
        except ModelUnavailable as error:
            self._failures += 1
            self._last_error = error.message
            raise

    def figures(self) -> dict[str, float | str]:
        """Figures for `/health/detailed` and the metrics; their names begin with the component's."""
        figures: dict[str, float | str] = {"loaded": float(self._batcher is not None), **self._facts}
        if self._batcher is not None:
            stats = self._batcher.stats()
            figures |= {
                "queued_tokens": stats.queued_tokens,
                "running_tokens": stats.running_tokens,
                "batches": stats.batches,
                "items": stats.items,
                "rejected": stats.rejected,
            }
        figures |= {"failures": self._failures, "last_error": self._last_error}
        return {f"{self._component}_{name}": value for name, value in figures.items()}

    @property
    def load_error(self) -> str:
        """Why the weights could not be read; empty if they were read."""
        return "" if self._batcher is not None else self._last_error

    def check_health(self) -> None:
        """Does nothing while the model works, or if it was never loaded: a new process would read the same weights.

        Raises:
            ModelUnavailable: Its worker died, or the engine fails on everything.
        """
        if self._batcher is not None:
            self._batcher.check_health()

    async def close(self, drain_s: float = 30.0) -> None:
        """Refuses new inputs, finishes the waiting ones within `drain_s` seconds, and stops."""
        if self._batcher is not None:
            await self._batcher.close(drain_s)


class _Engine(BatchEngine[PreparedT, OutputT]):
    def __init__(self, component: str, model: TrainedModel[InputT, PreparedT, OutputT]) -> None:
        self._component = component
        self._forward = model.forward

    @property
    @override
    def component(self) -> str:
        return self._component

    @override
    def forward(self, batch: Sequence[PreparedT]) -> Outputs[OutputT]:
        with memory_errors():
            return self._forward(batch)
