"""A trained model behind the shared batcher: its weights, its queue and what is wrong with it (DESIGN §5)."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import structlog
from typing_extensions import override

from memory.ports.language import Priority
from memory.values.errors import ModelUnavailable

from ..assets.model_facts import ModelFacts
from .batcher import TokenBatcher
from .engine import BatchEngine, Outputs, OutputT, OutputT_co, PreparedT
from .out_of_memory import memory_errors
from .queue import BatchLimits

InputT = TypeVar("InputT")
InputT_contra = TypeVar("InputT_contra", contravariant=True)
_log = structlog.get_logger(__name__)


class TrainedModel(Protocol[InputT_contra, PreparedT, OutputT_co]):
    """What the tagger, the rewriter and the rerankers offer; safe to call from several threads."""

    def load(self) -> ModelFacts:
        """Reads the weights; raises `ModelUnavailable` where it cannot."""
        ...

    def prepare(self, inputs: Sequence[InputT_contra], /) -> Sequence[PreparedT]:
        """Tokenises inputs in order."""
        ...

    def forward(self, prepared: Sequence[PreparedT], /) -> Sequence[OutputT_co]:
        """Computes prepared inputs in order."""
        ...


class BatchedModel(Generic[InputT, PreparedT, OutputT]):
    """A model whose weights are read when this is built; where they cannot be, that is kept and told, not raised.

    So a service with a corrupt weight file starts, does without, and says so.

    Args:
        component: What the model is called in errors, logs and figures.
        model: Computes.
        warm_up: An input that is computed at once: the first caller need not wait for what a first pass sets up.
        limits: What a batch and the queue may hold; by default what suits a CPU.
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
        """Computes inputs in order, together with what other callers ask for.

        Raises:
            InvalidField: More inputs than the queue could ever hold.
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
        """How it is, for `/health/detailed` and the metrics; names begin with the component's."""
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
        """Why the weights could not be read; empty where they were."""
        return "" if self._batcher is not None else self._last_error

    def check_health(self) -> None:
        """Says nothing while the model works, or was never there: another process would not find better weights.

        Raises:
            ModelUnavailable: Its worker died, or the engine fails on everything.
        """
        if self._batcher is not None:
            self._batcher.check_health()

    async def close(self, drain_s: float = 30.0) -> None:
        """Finishes what is here, at most for `drain_s`, and stops."""
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
