"""The interface of the rerankers, and the Reranker port over one of them."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic

from typing_extensions import override

from memory.ports.models.language import Priority, Reranker, check_reranked

from ..batching.batched_model import BatchedModel, ModelFacts
from ..batching.engine import PreparedT
from ..batching.queue import BatchLimits

COMPONENT = "reranker"
"""The name of a reranker in errors, logs and metrics."""

QueryPassage = tuple[str, str]


class PairScorer(ABC, Generic[PreparedT]):
    """Scores pairs of query and passage in two steps, so that a batcher can tokenise one while another computes.

    Safe to call from several threads; computing takes turns. The weights are read at the first call.
    """

    @abstractmethod
    def load(self) -> ModelFacts:
        """Reads the weights unless that was done before.

        Raises:
            ModelUnavailable: They are missing or broken.
        """

    @abstractmethod
    def prepare(self, pairs: Sequence[QueryPassage]) -> list[PreparedT]:
        """Tokenises pairs in order.

        Raises:
            ModelUnavailable: The weights are missing or broken.
        """

    @abstractmethod
    def forward(self, prepared: Sequence[PreparedT]) -> list[float]:
        """Scores prepared pairs in order: the probability that a passage answers its query.

        Raises:
            ModelUnavailable: The weights are missing or broken.
            RuntimeError: Of torch: the batch does not fit into memory (`engine.memory_errors`); a smaller one may.
        """

    def score(self, pairs: Sequence[QueryPassage]) -> list[float]:
        """`prepare` and `forward` in one call."""
        return self.forward(self.prepare(pairs)) if pairs else []


class BatchedReranker(Reranker, Generic[PreparedT]):
    """A cross-encoder with a batcher in front: concurrent callers share batches.

    Args:
        scorer: Its weights are read here; see `BatchedModel` for weights that cannot be read.
        limits: Bounds of a batch and of the queue; by default those for a CPU.
    """

    def __init__(self, scorer: PairScorer[PreparedT], *, limits: BatchLimits | None = None) -> None:
        self.model = BatchedModel(COMPONENT, scorer, warm_up=("它在哪裡？", "The AI-Box is in 台北。"), limits=limits)

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        check_reranked(passages)
        return await self.model.submit([(query, passage) for passage in passages], priority)


def probability(logit: float) -> float:
    """The logistic function.

    Raises:
        FloatingPointError: It is not finite.
    """
    if not math.isfinite(logit):
        raise FloatingPointError("The reranker gave a score that is not a number.")
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
