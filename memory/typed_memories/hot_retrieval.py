"""Retrieving typed memories by relevance, use and age (001 §3.4, §5.2)."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import structlog

from ..language.keywords import KeywordAnalyzer
from ..ports.language import Encoder, Priority, TextKind
from ..ports.record import SystemOfRecord
from ..ports.vectors import Collection, IndexQuery, VectorIndex
from ..retrieval.fusion import TYPED_MEMORY_HOTNESS, HotnessRecipe, hotness_parts, hotness_score, min_max, share_of_best
from ..values.base import UserId, Value
from ..values.errors import Unavailable
from ..values.text import normalise
from ..values.typed_memories import MemoryStatus, TypedMemory
from .similar import waiting_memories

MAX_LIMIT = 100
_log = structlog.get_logger(__name__)


class RankedMemory(Value):
    """A memory that was retrieved, and why it ranks where it does.

    Args:
        final_score: 001 §3.4's score, 0 to 1.
        parts: `relevance`, `hotness` and `recency` as they entered it, each 0 to 1.
    """

    memory: TypedMemory
    final_score: float
    parts: dict[str, float]


class RetrievedMemories(Value):
    """Memories, best first. `degraded` names the legs that could not answer; the others still did (DESIGN §7)."""

    user_id: UserId
    results: tuple[RankedMemory, ...] = ()
    degraded: tuple[str, ...] = ()


class HotRetrieval:
    """Finds typed memories by vector, keywords and exact value, and ranks them by a recipe.

    Args:
        record: Keeps the memories.
        encoder: The one whose vectors the index holds.
        index: Holds `Collection.TYPED_MEMORIES`.
        analyzer: Makes terms of queries.
        recipe: Weights and defaults.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        encoder: Encoder,
        index: VectorIndex,
        analyzer: KeywordAnalyzer,
        recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS,
    ) -> None:
        self._record = record
        self._encoder = encoder
        self._index = index
        self._analyzer = analyzer
        self.recipe = recipe

    async def retrieve(
        self, query: str, *, user_id: str, min_confidence: float, limit: int, entity_type: str | None, now: datetime
    ) -> RetrievedMemories:
        """The most relevant `limit × candidates`, of those the sure ones, ranked; the best `limit` of them.

        Raises:
            StoreUnavailable: The record cannot be read.
        """
        scores, degraded = await self._indexed(query, user_id, limit * self.recipe.candidates, entity_type)
        waiting = await waiting_memories(self._record, user_id)
        async with self._record.reading(user_id=user_id) as unit:
            found = await unit.typed_memories.get(list(scores))
        memories = {
            one.memory_id: one
            for one in (*found, *waiting)
            if one.status is not MemoryStatus.ARCHIVED and entity_type in (None, one.entity_type)
        }
        relevance = self._relevance(query, memories, scores)
        candidates = sorted(relevance, key=lambda id_: (-relevance[id_], id_))[: limit * self.recipe.candidates]
        ranked = [
            self._ranked(memories[id_], relevance[id_], now)
            for id_ in candidates
            if memories[id_].confidence >= min_confidence
        ]
        ranked.sort(key=lambda one: (-one.final_score, one.memory.memory_id))
        return RetrievedMemories(user_id=user_id, results=tuple(ranked[:limit]), degraded=degraded)

    async def _indexed(
        self, query: str, user_id: str, limit: int, entity_type: str | None
    ) -> tuple[dict[str, float], tuple[str, ...]]:
        """Relevance in 0–1 by id, of what the index finds: the better of vector and keywords, each normalised."""
        where = {} if entity_type is None else {"entity_type": entity_type}
        try:
            [vector] = await self._encoder.encode([query], kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
            queries = [IndexQuery(Collection.TYPED_MEMORIES, limit, dense=vector, where=where)]
            sparse = self._analyzer.query_vector(query)
            if sparse.indices:
                queries.append(IndexQuery(Collection.TYPED_MEMORIES, limit, sparse=sparse, where=where))
            dense, *keyword = await self._index.search(queries, user_id=user_id)
        except Unavailable as error:
            _log.warning("retrieval_degraded", part="vector", component=error.component, error=error.message)
            return {}, ("vector", "keyword")
        scores = min_max({point.point_id: point.score for point in dense})
        for points in keyword:
            for id_, share in share_of_best({point.point_id: point.score for point in points}).items():
                scores[id_] = max(scores.get(id_, 0.0), share)
        return scores, ()

    def _relevance(
        self, query: str, memories: Mapping[str, TypedMemory], scores: Mapping[str, float]
    ) -> dict[str, float]:
        """Adds what needs no index: 1 where the value stands in the query, else the share of its terms found."""
        asked, terms = normalise(query), set(self._analyzer.terms(query))
        relevance = {}
        for id_, memory in memories.items():
            named = 1.0 if normalise(memory.entity_value) in asked else 0.0
            share = 0.0 if id_ in scores else _overlap(terms, self._analyzer.terms(memory.content))
            score = max(scores.get(id_, 0.0), named, share)
            if id_ in scores or score > 0:
                relevance[id_] = score
        return relevance

    def _ranked(self, memory: TypedMemory, relevance: float, now: datetime) -> RankedMemory:
        parts = hotness_parts(relevance, memory.access_count, memory.updated_at, now, self.recipe)
        return RankedMemory(
            memory=memory.model_copy(update={"relevance_score": parts["relevance"]}),
            final_score=hotness_score(parts, self.recipe),
            parts=parts,
        )


def _overlap(terms: set[str], others: Sequence[str]) -> float:
    return len(terms.intersection(others)) / len(terms) if terms else 0.0
