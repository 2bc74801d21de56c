"""The Tagger port over the trained tagger: concurrent callers share batches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from memory.ports.language import Priority, Tagger
from memory.values.tagging import TaggedSpan

from ..batching.batched_model import BatchedModel
from ..batching.queue import BatchLimits
from .tagger import Tagger as TrainedTagger

if TYPE_CHECKING:
    from .decoding import TaggedSpan as FoundSpan


class BatchedTagger(Tagger):
    """A tagger with a batcher in front.

    Args:
        tagger: Its weights are read here; see `BatchedModel` for what happens where they cannot be.
        limits: What a batch and the queue may hold; by default what suits a CPU.
    """

    def __init__(self, tagger: TrainedTagger, *, limits: BatchLimits | None = None) -> None:
        self.model = BatchedModel("tagger", tagger, warm_up="王小明 works in 台北。", limits=limits)

    @override
    async def tag(
        self, texts: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[tuple[TaggedSpan, ...]]:
        return [tuple(map(_span, spans)) for spans in await self.model.submit(texts, priority)]


def _span(found: "FoundSpan") -> TaggedSpan:
    return TaggedSpan(
        start=found.start, end=found.end, label=found.label, subtype=found.subtype, score=min(found.score, 1.0)
    )
