"""Finding typed memories: near neighbours of a value (001 §3.3), and a ranking by relevance, use and age (001 §3.4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from ..language.glossary import query_across
from ..language.keywords import KeywordAnalyzer
from ..language.wording import fact_text
from ..ports.models.language import Encoder, Priority, TextKind
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.typed_memories import fact_of
from ..ports.stores.vectors import Collection, FloatVector, IndexQuery, VectorIndex
from ..retrieval.fusion import freshness
from ..values.base import UserId, Value
from ..values.errors import Unavailable
from ..values.facts import FactStatus
from ..values.hits import CosineBounds
from ..values.predicates import has_one_value
from ..values.text import normalise
from ..values.typed_memories import MemoryStatus, TypedMemory

MAX_LIMIT = 100
EVIDENT = 0.5
"""The relevance from which a memory counts as evidence, and a retrieval as a use of it."""
_MAX_NEIGHBOURS = 64
"""Indexed memories that are compared with a new value, nearest first."""
_MAX_UNINDEXED = 256
"""Outbox entries that are read for memories that the index does not hold yet."""
_NOT_ARCHIVED = {"status": FactStatus.ACTIVE.value}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class HotnessRecipe:
    """Weights of a score by relevance, use and age; they add up to 1, so that scores lie in 0–1.

    Args:
        name: Where the recipe comes from.
        relevance: Weight of how well a memory answers the query.
        hotness: Weight of how often it was accessed.
        recency: Weight of how recently its value was given.
        full_access: Number of accesses at which hotness reaches 1.
        horizon_days: Age at which recency reaches 0.
        min_confidence: Less confident memories are left out.
        limit: Default number of results.
        candidates: Candidates ranked for each result.
    """

    name: str
    relevance: float
    hotness: float
    recency: float
    full_access: int
    horizon_days: float
    min_confidence: float
    limit: int
    candidates: int


TYPED_MEMORY_HOTNESS = HotnessRecipe(
    "001 §3.4",
    relevance=0.4,
    hotness=0.3,
    recency=0.3,
    full_access=100,
    horizon_days=365.0,
    min_confidence=0.7,
    limit=5,
    candidates=2,
)


def hotness_parts(
    relevance: float, access_count: int, updated: datetime, now: datetime, recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS
) -> dict[str, float]:
    """The terms of 001 §3.4's score, each clipped to 0–1 (DESIGN §11: the document leaves them unbounded)."""
    return {
        "relevance": min(1.0, max(0.0, relevance)),
        "hotness": min(1.0, access_count / recipe.full_access),
        "recency": freshness(updated, now, horizon_hours=24 * recipe.horizon_days),
    }


def hotness_score(parts: Mapping[str, float], recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS) -> float:
    """`0.4·relevance + 0.3·min(1, access/100) + 0.3·max(0, 1 − days/365)` (001 §3.4), from `hotness_parts`."""
    return recipe.relevance * parts["relevance"] + recipe.hotness * parts["hotness"] + recipe.recency * parts["recency"]


class RankedMemory(Value):
    """A retrieved memory and its score.

    Args:
        final_score: 001 §3.4's score, 0 to 1.
        parts: Its terms `relevance`, `hotness` and `recency`, each 0 to 1.
    """

    memory: TypedMemory
    final_score: float
    parts: dict[str, float]


class RetrievedMemories(Value):
    """Memories, best first; `degraded` names the search legs that were unavailable (DESIGN §7)."""

    user_id: UserId
    results: tuple[RankedMemory, ...] = ()
    degraded: tuple[str, ...] = ()


class NeighbourSearch:
    """Finds the memories nearest to a value, indexed or not; contents are encoded as passages, as the bands require.

    Args:
        record: Stores the memories.
        encoder: The encoder of the index's vectors.
        index: Holds `Collection.FACTS`.
    """

    def __init__(self, *, record: SystemOfRecord, encoder: Encoder, index: VectorIndex) -> None:
        self._record = record
        self._encoder = encoder
        self._index = index

    async def find(self, new: TypedMemory) -> tuple[list[TypedMemory], dict[str, float]]:
        """Other memories of the same user and type, without archived ones, and the cosines of the nearest by id.

        Of a type with one value all are found, near or not.

        Raises:
            Unavailable: The encoder or a store is down.
        """
        unindexed = [
            memory
            for memory in await unindexed_memories(self._record, new.user_id)
            if memory.entity_type == new.entity_type and memory.memory_id != new.memory_id
        ]
        texts = [fact_text(fact_of(memory)) for memory in (new, *unindexed)]
        vectors = await self._encoder.encode(texts, kind=TextKind.PASSAGE, priority=Priority.INTERACTIVE)
        cosines = await self._search_index(new, vectors[0])
        computed = vectors[1:] @ vectors[0]  # (unindexed,)
        cosines |= {memory.memory_id: float(cosine) for memory, cosine in zip(unindexed, computed, strict=True)}
        async with self._record.reading(user_id=new.user_id) as unit:
            near = await unit.typed_memories.get(list(cosines))
            has_one = has_one_value(new.entity_type)
            rivals = await unit.typed_memories.of_type(new.entity_type) if has_one else []
        others = {memory.memory_id: memory for memory in (*near, *rivals) if memory.memory_id != new.memory_id}
        return list(others.values()), cosines

    async def _search_index(self, new: TypedMemory, vector: FloatVector) -> dict[str, float]:
        where = {"entity_type": new.entity_type} | _NOT_ARCHIVED
        query = IndexQuery(Collection.FACTS, _MAX_NEIGHBOURS, dense=vector, where=where)
        [points] = await self._index.search([query], user_id=new.user_id)
        return {point.point_id: point.score for point in points if point.point_id != new.memory_id}


class HotnessRetriever:
    """Finds typed memories by vector, keywords and exact value, and ranks them by a recipe.

    Args:
        record: Stores the memories.
        encoder: The encoder of the index's vectors.
        index: Holds `Collection.FACTS`.
        analyzer: Splits queries and contents into terms.
        evidence: The cosines of this encoder from which a memory counts as evidence for a question.
        recipe: Weights and defaults.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        encoder: Encoder,
        index: VectorIndex,
        analyzer: KeywordAnalyzer,
        evidence: CosineBounds | None = None,
        recipe: HotnessRecipe = TYPED_MEMORY_HOTNESS,
    ) -> None:
        self._record = record
        self._encoder = encoder
        self._index = index
        self._analyzer = analyzer
        self._evidence = evidence or CosineBounds()
        self.recipe = recipe

    async def retrieve(
        self, query: str, *, user_id: str, min_confidence: float, limit: int, entity_type: str | None, now: datetime
    ) -> RetrievedMemories:
        """Takes the `limit × recipe.candidates` most relevant memories and returns the `limit` best by score.

        Raises:
            StoreUnavailable: The record cannot be read.
        """
        max_candidates = limit * self.recipe.candidates
        cosines, degraded = await self._search_index(query, user_id, max_candidates, entity_type)
        unindexed = await unindexed_memories(self._record, user_id)
        async with self._record.reading(user_id=user_id) as unit:
            indexed = await unit.typed_memories.get(list(cosines))
        memories = {
            memory.memory_id: memory
            for memory in (*indexed, *unindexed)
            if memory.status is not MemoryStatus.ARCHIVED and entity_type in (None, memory.entity_type)
        }
        relevance = self._relevance(query, memories, cosines)
        candidates = sorted(relevance, key=lambda id_: (-relevance[id_], id_))[:max_candidates]
        ranked = [
            self._rank(memories[id_], relevance[id_], now)
            for id_ in candidates
            if memories[id_].confidence >= min_confidence
        ]
        ranked.sort(key=lambda result: (-result.final_score, result.memory.memory_id))
        return RetrievedMemories(user_id=user_id, results=tuple(ranked[:limit]), degraded=degraded)

    async def _search_index(
        self, query: str, user_id: str, limit: int, entity_type: str | None
    ) -> tuple[dict[str, float | None], tuple[str, ...]]:
        """The cosines of what either leg finds, by id, None where only keywords do; and the legs that failed."""
        where = _NOT_ARCHIVED | ({} if entity_type is None else {"entity_type": entity_type})
        try:
            [vector] = await self._encoder.encode([query], kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
            queries = [IndexQuery(Collection.FACTS, limit, dense=vector, where=where)]
            sparse = query_across(query, self._analyzer)
            if sparse.indices:
                queries.append(IndexQuery(Collection.FACTS, limit, sparse=sparse, where=where))
            dense, *keyword = await self._index.search(queries, user_id=user_id)
        except Unavailable as error:
            _log.warning("retrieval_degraded", part="vector", component=error.component, error=error.message)
            return {}, ("vector", "keyword")
        found: dict[str, float | None] = {point.point_id: None for points in keyword for point in points}
        return found | {point.point_id: point.score for point in dense}, ()

    def _relevance(
        self, query: str, memories: Mapping[str, TypedMemory], cosines: Mapping[str, float | None]
    ) -> dict[str, float]:
        """1 where the query holds the value; else the better of the cosine's relevance and the share of its terms.

        It says how near a memory is, not which is the nearest: for a query that none concerns all are low.
        """
        folded, terms = normalise(query), set(self._analyzer.terms(query))
        relevance = {}
        for id_, memory in memories.items():
            exact = 1.0 if normalise(memory.entity_value) in folded else 0.0
            cosine = cosines.get(id_)
            alike = 0.0 if cosine is None else _cosine_relevance(cosine, self._evidence.bound(query, memory.content))
            score = max(alike, exact, _term_overlap(terms, self._analyzer.terms(memory.content)))
            if id_ in cosines or score > 0:
                relevance[id_] = score
        return relevance

    def _rank(self, memory: TypedMemory, relevance: float, now: datetime) -> RankedMemory:
        parts = hotness_parts(relevance, memory.access_count, memory.updated_at, now, self.recipe)
        return RankedMemory(
            memory=memory.model_copy(update={"relevance_score": parts["relevance"]}),
            final_score=hotness_score(parts, self.recipe),
            parts=parts,
        )


async def unindexed_memories(record: SystemOfRecord, user_id: str) -> Sequence[TypedMemory]:
    """Stored memories that the index does not hold yet, without archived ones."""
    entries = await record.backlog.outbox(limit=_MAX_UNINDEXED, user_id=user_id)
    ids = [entry.item_id for entry in entries if entry.collection is Collection.FACTS]
    if not ids:
        return []
    async with record.reading(user_id=user_id) as unit:
        memories = await unit.typed_memories.get(ids)
    return [memory for memory in memories if memory.status is not MemoryStatus.ARCHIVED]


def _cosine_relevance(cosine: float, bound: float | None) -> float:
    """A cosine on the scale of its encoder, 0 to 1: `EVIDENT` at the bound from which it counts as evidence.

    The cosines of e5 crowd into 0.75–1.0 (DESIGN §6). Without a bound it is the cosine (001 §3.4).
    """
    if bound is None or bound >= 1.0:
        return min(1.0, max(0.0, cosine))
    return min(1.0, max(0.0, EVIDENT + (1.0 - EVIDENT) * (cosine - bound) / (1.0 - bound)))


def _term_overlap(terms: set[str], others: Sequence[str]) -> float:
    return len(terms.intersection(others)) / len(terms) if terms else 0.0
