"""Reranking: a cross-encoder scores the best fused hits, each together with the query (DESIGN §5, §6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from typing_extensions import override

from ..ports.models.language import MAX_RERANKED, Reranker
from ..ports.services import Retriever
from ..ports.stores.record import SystemOfRecord
from ..values.errors import Overloaded, Unavailable
from ..values.hits import Hit, HitKind, SearchRequest, SearchResult
from ..values.records import Memory
from .fusion import min_max

_log = structlog.get_logger(__name__)
_PART = "rerank"


@dataclass(frozen=True)
class RerankRecipe:
    """How the reranker's scores change the ranking.

    Args:
        candidates: Number of the best fused hits that are reranked, at most `MAX_RERANKED`.
        weight: Weight of the reranker's score in the new score, 0 to 1; the fused score has the rest.
    """

    candidates: int
    weight: float

    def __post_init__(self) -> None:
        if not 1 <= self.candidates <= MAX_RERANKED:
            raise ValueError(f"candidates must lie in 1 to {MAX_RERANKED}, not {self.candidates}")
        if not 0.0 <= self.weight <= 1.0:
            raise ValueError(f"weight must lie in 0 to 1, not {self.weight}")


RERANKING: Final = RerankRecipe(candidates=MAX_RERANKED, weight=0.3)
"""At this weight conversation memories gain most and paragraphs, which fused retrieval ranks almost perfectly, lose
least (`training.reranker.evaluate`); the reranker's score alone ranks worse than both together."""


class RerankingRetriever(Retriever):
    """Wraps a retriever and reranks its best hits.

    A hit's score becomes `weight · rerank + (1 − weight) · fused`, where `rerank` is the model's score (`relevance`),
    scaled to 0–1 over the candidates. All three are added to the hit's `parts`. Hits that are not reranked follow in
    their order. A reranker that is down or overloaded is named in `degraded`, and the fused ranking is returned.

    Args:
        inner: Finds the candidates.
        reranker: Scores them.
        record: Provides the turn before each memory, which is part of the passage.
        recipe: The number of candidates and the weight.
    """

    def __init__(
        self, inner: Retriever, *, reranker: Reranker, record: SystemOfRecord, recipe: RerankRecipe = RERANKING
    ) -> None:
        self._inner = inner
        self._reranker = reranker
        self._record = record
        self._recipe = recipe

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        wider = request.model_copy(update={"top_k": max(request.top_k, self._recipe.candidates)})
        result = await self._inner.search(wider)
        candidates, rest = result.hits[: self._recipe.candidates], result.hits[self._recipe.candidates :]
        degraded = result.degraded
        if len(candidates) > 1:
            try:
                candidates = await self._rerank(request, candidates)
            except (Unavailable, Overloaded) as error:
                component = error.component if isinstance(error, Unavailable) else "reranker"
                _log.warning("retrieval_degraded", part=_PART, component=component, error=error.message)
                degraded = (*degraded, _PART)
        return SearchResult(hits=(*candidates, *rest)[: request.top_k], degraded=degraded)

    async def _rerank(self, request: SearchRequest, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        memories = await self._memories(request.user_id, hits)
        passages = [passage_of(hit, memories.get(hit.id)) for hit in hits]
        scores = await self._reranker.rerank(request.query, passages)
        scaled = min_max(dict(enumerate(scores)))
        blended = [_blend(hit, scores[position], scaled[position], self._recipe) for position, hit in enumerate(hits)]
        return tuple(sorted(blended, key=lambda hit: (-hit.score, -hit.created_at.timestamp(), hit.id)))

    async def _memories(self, user_id: str, hits: Sequence[Hit]) -> Mapping[str, Memory]:
        ids = [hit.id for hit in hits if hit.kind is HitKind.MEMORY]
        if not ids:
            return {}
        async with self._record.reading(user_id=user_id) as unit:
            return {memory.memory_id: memory for memory in await unit.memories.get(ids)}


def passage_of(hit: Hit, memory: Memory | None) -> str:
    """The passage for a hit: the turn before it, its speaker and its text, as the encoder reads them.

    Args:
        hit: The hit.
        memory: Its memory; None for an entity, and for a turn that is not learned yet.
    """
    text = f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text
    return f"{memory.context}\n{text}" if memory is not None and memory.context else text


def _blend(hit: Hit, relevance: float, scaled: float, recipe: RerankRecipe) -> Hit:
    """The hit with its new score; an entity that the query names in full keeps its rank above others (000 §6.1)."""
    scaled = 1.0 if "exact" in hit.parts else scaled
    score = recipe.weight * scaled + (1.0 - recipe.weight) * hit.score
    return hit.model_copy(
        update={"score": score, "parts": {**hit.parts, "fused": hit.score, _PART: scaled, "relevance": relevance}}
    )
