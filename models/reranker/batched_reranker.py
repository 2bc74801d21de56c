"""The Reranker port over a cross-encoder: concurrent callers share batches."""

from collections.abc import Sequence
from typing import Generic

from typing_extensions import override

from memory.ports.language import Priority, Reranker, check_reranked

from ..batching.batched_model import BatchedModel
from ..batching.engine import PreparedT
from ..batching.queue import BatchLimits
from .scorer import COMPONENT, PairScorer


class BatchedReranker(Reranker, Generic[PreparedT]):
    """A cross-encoder with a batcher in front.

    Args:
        scorer: Its weights are read here; see `BatchedModel` for what happens where they cannot be.
        limits: What a batch and the queue may hold; by default what suits a CPU.
    """

    def __init__(self, scorer: PairScorer[PreparedT], *, limits: BatchLimits | None = None) -> None:
        self.model = BatchedModel(COMPONENT, scorer, warm_up=("它在哪裡？", "The AI-Box is in 台北。"), limits=limits)

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        check_reranked(passages)
        return await self.model.submit([(query, passage) for passage in passages], priority)
