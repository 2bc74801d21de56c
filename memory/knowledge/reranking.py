"""Second stage of a search: the best chunks are read again, together with the query (004 §5.2)."""

from collections.abc import Mapping, Sequence
from typing import Final

import structlog
from typing_extensions import override

from ..ports.models.language import Priority, Reranker
from ..retrieval.fusion import min_max
from ..retrieval.reranking import RerankRecipe
from ..values.documents.corpora import KnowledgeHit, Reranking
from ..values.errors import ModelUnavailable, Overloaded, Unavailable

READ_AGAIN: Final = RerankRecipe(candidates=20, weight=0.4)
"""Chosen with the reranker that ships, on the same questions as `HYBRID`: 0.3 and 0.5 find up to 0.3 points less."""

_COMPOSITE = (Reranking.API, Reranking.LOCAL)
_log = structlog.get_logger(__name__)


class CompositeReranker(Reranker):
    """Asks the first reranker that can answer.

    Args:
        rerankers: In the order in which they are asked; not empty.
    """

    def __init__(self, rerankers: Sequence[Reranker]) -> None:
        self._rerankers = rerankers

    @override
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        *others, last = self._rerankers
        for reranker in others:
            try:
                return await reranker.rerank(query, passages, priority=priority)
            except (Unavailable, Overloaded) as error:
                _log.warning("reranker_skipped", error=error.message)
        return await last.rerank(query, passages, priority=priority)


def reranker_for(reranking: Reranking, rerankers: Mapping[Reranking, Reranker]) -> Reranker | None:
    """The reranker of a kind; None for no reranking.

    Args:
        reranking: The kind.
        rerankers: Those that the service has: `local` and `api`.

    Raises:
        ModelUnavailable: The service has none of this kind.
    """
    if reranking is Reranking.NONE:
        return None
    wanted = _COMPOSITE if reranking is Reranking.COMPOSITE else (reranking,)
    found = [rerankers[kind] for kind in wanted if kind in rerankers]
    if not found:
        raise ModelUnavailable(f"No reranker of the kind {reranking.value!r} is set up.", component="reranker")
    return found[0] if len(found) == 1 else CompositeReranker(found)


async def rerank(
    reranker: Reranker, query: str, hits: Sequence[KnowledgeHit], *, recipe: RerankRecipe = READ_AGAIN
) -> list[KnowledgeHit]:
    """The hits, with the best ones in the order of `weight · rerank + (1 − weight) · fused`, both scaled to 0–1.

    Hits that are not reranked follow in their order, with their scores brought below.

    Raises:
        Overloaded: The reranker's queue is full.
        Unavailable: It cannot answer.
    """
    candidates, rest = hits[: recipe.candidates], hits[recipe.candidates :]
    if len(candidates) < 2:
        return [*hits]
    scores = await reranker.rerank(query, [passage_of(hit) for hit in candidates])
    scaled = min_max(dict(enumerate(scores)))
    fused = min_max(dict(enumerate(hit.score for hit in candidates)))
    reranked = []
    for place, hit in enumerate(candidates):
        score = recipe.weight * scaled[place] + (1.0 - recipe.weight) * fused[place]
        parts = {"fused": fused[place], "rerank": scaled[place], "relevance": scores[place]}
        reranked.append(_blend(hit, score, **parts))
    return sorted(reranked, key=lambda hit: (-hit.score, hit.knowledge_id)) + [_blend(hit, 0.0) for hit in rest]


def passage_of(hit: KnowledgeHit) -> str:
    """The passage for a chunk: the headings that it stands under, and its text."""
    return "\n".join((*hit.headings, hit.content))


def _blend(hit: KnowledgeHit, score: float, **parts: float) -> KnowledgeHit:
    return hit.model_copy(update={"score": score, "parts": {**hit.parts, **parts}})
