"""How alike neighbouring sentences are, by the embedding model (004 §5.1, semantic chunking)."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from typing_extensions import override

from ..indexing.retrying import RetriedEncoder
from ..ports.knowledge import SentenceSimilarity
from ..ports.models.language import Priority, TextKind
from ..ports.stores.generations import VectorSpace


class EncodedSimilarity(SentenceSimilarity):
    """Cosines of the live model's vectors.

    Args:
        live: The space whose encoder is asked.
    """

    def __init__(self, live: Callable[[], Awaitable[VectorSpace]]) -> None:
        self._live = live

    @override
    async def of_neighbours(self, sentences: Sequence[str]) -> list[float]:
        if len(sentences) < 2:
            return []
        encoder = RetriedEncoder((await self._live()).encoder)
        vectors = await encoder.encode(sentences, kind=TextKind.PASSAGE, priority=Priority.BATCH)  # (sentences, dim)
        return [float(cosine) for cosine in np.sum(vectors[:-1] * vectors[1:], axis=1)]
