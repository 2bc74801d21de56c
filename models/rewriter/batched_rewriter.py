"""The QueryRewriter port over the trained rewriter: concurrent callers share batches."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.language import Priority, QueryRewriter
from memory.values.rewrites import RewriteRequest, RewriteResult

from ..batching.batched_model import BatchedModel
from ..batching.queue import BatchLimits
from .rewriter import Rewriter


class BatchedRewriter(QueryRewriter):
    """A rewriter with a batcher in front.

    Args:
        rewriter: Its weights are read here; see `BatchedModel` for what happens where they cannot be.
        limits: What a batch and the queue may hold; by default what suits a CPU.
    """

    def __init__(self, rewriter: Rewriter, *, limits: BatchLimits | None = None) -> None:
        self.model = BatchedModel(
            "rewriter",
            rewriter,
            warm_up=RewriteRequest(query="它多少錢？", turns=("我買了一台 AI-Box。",)),
            limits=limits,
        )

    @override
    async def rewrite(
        self, requests: Sequence[RewriteRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[RewriteResult]:
        return await self.model.submit(requests, priority)
