"""The reranking step: the best fused hits are read again, each together with the query (DESIGN §5, §6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from typing_extensions import override

from ..ports.language import MAX_RERANKED, Reranker
from ..ports.record import SystemOfRecord
from ..ports.services import Retriever
from ..values.errors import Overloaded, Unavailable
from ..values.hits import Hit, HitKind, SearchRequest, SearchResult
from ..values.records import Memory
from .fusion import min_max

_log = structlog.get_logger(__name__)
_PART = "rerank"


@dataclass(frozen=True)
class RerankRecipe:
    """How the reranker's opinion enters a score.

    Args:
        candidates: How many of the best fused hits are read again, at most `MAX_RERANKED`.
        weight: Share of the reranker's score in the new score, 0 to 1; the fused score has the rest.
    """

    candidates: int
    weight: float

    def __post_init__(self) -> None:
        if not 1 <= self.candidates <= MAX_RERANKED:
            raise ValueError(f"A recipe reads 1 to {MAX_RERANKED} candidates again, not {self.candidates}.")
        if not 0.0 <= self.weight <= 1.0:
            raise ValueError(f"A weight lies in 0 to 1: {self.weight}.")


RERANKING: Final = RerankRecipe(candidates=MAX_RERANKED, weight=0.3)
"""The weight is the one at which conversation memories gain most and paragraphs, where fused retrieval is near perfect
already, lose least (`training.reranker.evaluate`); the model's score alone ranks worse than both together."""


class RerankingRetriever(Retriever):
    """A retriever whose best hits are put in order again by a model that reads query and passage together.

    A hit's score becomes `weight · rerank + (1 − weight) · fused`, where `rerank` is what the model says (`answers`),
    scaled to 0–1 over the candidates, as every leg's score is. All three stay in its `parts`, beside those that the
    fused score was made of. Hits behind the candidates keep their order and stand behind them. A reranker that is down
    or overloaded is named in `degraded` and logged; the fused ranking then stands.

    Args:
        inner: Finds the candidates.
        reranker: Reads them again.
        record: Where a memory's context is read: what was said before it belongs to the passage.
        recipe: How many, and what their scores count.
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
        """See `Retriever.search`."""
        longer = request.model_copy(update={"top_k": max(request.top_k, self._recipe.candidates)})
        found = await self._inner.search(longer)
        candidates, rest = found.hits[: self._recipe.candidates], found.hits[self._recipe.candidates :]
        degraded = found.degraded
        if len(candidates) > 1:
            try:
                candidates = await self._again(request, candidates)
            except (Unavailable, Overloaded) as error:
                component = error.component if isinstance(error, Unavailable) else "reranker"
                _log.warning("retrieval_degraded", part=_PART, component=component, error=error.message)
                degraded = (*degraded, _PART)
        return SearchResult(hits=(*candidates, *rest)[: request.top_k], degraded=degraded)

    async def _again(self, request: SearchRequest, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        memories = await self._memories(request.user_id, hits)
        passages = [passage_of(hit, memories.get(hit.id)) for hit in hits]
        scores = await self._reranker.rerank(request.query, passages)
        shares = min_max(dict(enumerate(scores)))
        read = [_blended(hit, scores[place], shares[place], self._recipe) for place, hit in enumerate(hits)]
        return tuple(sorted(read, key=lambda hit: (-hit.score, -hit.created_at.timestamp(), hit.id)))

    async def _memories(self, user_id: str, hits: Sequence[Hit]) -> Mapping[str, Memory]:
        ids = [hit.id for hit in hits if hit.kind is HitKind.MEMORY]
        if not ids:
            return {}
        async with self._record.reading(user_id=user_id) as unit:
            return {memory.memory_id: memory for memory in await unit.memories.get(ids)}


def passage_of(hit: Hit, memory: Memory | None) -> str:
    """What a reranker reads of a hit: the turn before it, who said it and what; as the encoder does.

    Args:
        hit: What was found.
        memory: The memory itself; None for an entity, and for what is not learned yet.
    """
    own = f"{hit.speaker}: {hit.text}" if hit.speaker else hit.text
    return f"{memory.context}\n{own}" if memory is not None and memory.context else own


def _blended(hit: Hit, answers: float, share: float, recipe: RerankRecipe) -> Hit:
    score = recipe.weight * share + (1.0 - recipe.weight) * hit.score
    return hit.model_copy(
        update={"score": score, "parts": {**hit.parts, "fused": hit.score, _PART: share, "answers": answers}}
    )
