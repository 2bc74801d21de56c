"""Hybrid retrieval: all legs at once, one ranking, and the reasons for it (000 §6, DESIGN §6)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping

import structlog

from ..entities import Entity
from ..errors import Unavailable
from ..ports.language import Encoder
from ..ports.record import SystemOfRecord
from ..ports.retrieval import Retriever
from ..ports.vectors import VectorIndex
from ..records import Memory
from .analysis import KeywordAnalyzer
from .fusion import ENTITY_MEMORY, FusionRecipe, freshness, fused_score, min_max, share_of_best
from .graph import graph_leg
from .hits import Hit, HitKind, SearchRequest, SearchResult
from .legs import Key, Scores, dense_leg, exact_leg, keyword_leg, overlap, recent_memories, unindexed_memories

_log = structlog.get_logger("entity_memory")
_MIN_CANDIDATES = 30
_INDEX_LEGS = ("vector", "keyword")


class HybridRetriever(Retriever):
    """Dense, keyword and exact legs in parallel, fused by one recipe.

    A leg whose store or model cannot answer is named in the result's `degraded` and the others still answer; while
    the index is down, recent memories are searched in memory (000 §9.1, DESIGN §7). While the record is down there is
    nothing to show: the result is empty, with `record` among what is degraded.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        index: VectorIndex,
        record: SystemOfRecord,
        analyzer: KeywordAnalyzer,
        recipe: FusionRecipe = ENTITY_MEMORY,
    ) -> None:
        self._encoder = encoder
        self._index = index
        self._record = record
        self._analyzer = analyzer
        self._recipe = recipe

    async def search(self, request: SearchRequest) -> SearchResult:
        """See `Retriever.search`."""
        if not request.filters.is_empty:  # entities carry none of the filtered fields
            request = request.model_copy(update={"kinds": tuple(k for k in request.kinds if k is HitKind.MEMORY)})
        unindexed, legs, degraded = await self._gather(request)
        legs["overlap"] = overlap(request, unindexed, self._analyzer)
        parts = _parts(legs)
        try:
            entities, memories = await self._load(request.user_id, parts, unindexed)
        except Unavailable as error:
            return SearchResult(degraded=tuple(dict.fromkeys((*degraded, _failed("record", error)))))
        hits = [
            *(self._entity_hit(entity, parts, request) for entity in entities if _may_surface(entity, parts)),
            *(self._memory_hit(memory, parts, request) for memory in memories),
        ]
        hits.sort(key=lambda hit: (-hit.score, -hit.created_at.timestamp(), hit.id))
        return SearchResult(hits=tuple(hits[: request.top_k]), degraded=tuple(dict.fromkeys(degraded)))

    async def _gather(self, request: SearchRequest) -> tuple[list[Memory], dict[str, Scores], list[str]]:
        """What the index does not hold yet, what each leg says, and which parts could not answer."""
        (unindexed, lost), (legs, degraded) = await asyncio.gather(
            _or_nothing(unindexed_memories(request, self._record)), self._run_legs(request)
        )
        if any(name in degraded for name in _INDEX_LEGS):
            recent, also_lost = await _or_nothing(recent_memories(request, self._record))
            unindexed, lost = [*unindexed, *recent], [*lost, *also_lost]
        return unindexed, legs, [*degraded, *lost]

    async def _run_legs(self, request: SearchRequest) -> tuple[dict[str, Scores], list[str]]:
        limit = max(_MIN_CANDIDATES, 3 * request.top_k)
        running = {
            "vector": dense_leg(request, self._encoder, self._index, limit=limit),
            "keyword": keyword_leg(request, self._analyzer, self._index, limit=limit),
            "exact": exact_leg(request, self._record),
        }
        if self._recipe.graph:
            running["graph"] = graph_leg(request, self._record)
        outcomes = await asyncio.gather(*running.values(), return_exceptions=True)
        legs: dict[str, Scores] = {}
        degraded: list[str] = []
        for name, outcome in zip(running, outcomes, strict=True):
            if isinstance(outcome, Unavailable):
                degraded.append(_failed(name, outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                legs[name] = outcome
        return legs, degraded

    async def _load(
        self, user_id: str, keys: Iterable[Key], unindexed: Iterable[Memory]
    ) -> tuple[list[Entity], list[Memory]]:
        wanted = defaultdict(list)
        for key in keys:
            wanted[key.kind].append(key.id)
        async with self._record.reading(user_id=user_id) as unit:
            entities = await unit.entities.get(wanted[HitKind.ENTITY])
            stored = await unit.memories.get(wanted[HitKind.MEMORY])
        memories = {memory.memory_id: memory for memory in (*unindexed, *stored)}
        return entities, [memories[id_] for id_ in wanted[HitKind.MEMORY] if id_ in memories]

    def _entity_hit(self, entity: Entity, parts: Mapping[Key, dict[str, float]], request: SearchRequest) -> Hit:
        own = parts[Key(HitKind.ENTITY, entity.entity_id)]
        own["freshness"] = freshness(entity.last_mentioned, request.now, horizon_hours=self._recipe.freshness_hours)
        return Hit(
            kind=HitKind.ENTITY,
            id=entity.entity_id,
            text=entity.entity_value,
            score=fused_score(own, self._recipe),
            parts=own,
            metadata=entity.attributes,
            created_at=entity.first_mentioned,
        )

    def _memory_hit(self, memory: Memory, parts: Mapping[Key, dict[str, float]], request: SearchRequest) -> Hit:
        own = parts[Key(HitKind.MEMORY, memory.memory_id)]
        own["freshness"] = freshness(memory.created_at, request.now, horizon_hours=self._recipe.freshness_hours)
        return Hit(
            kind=HitKind.MEMORY,
            id=memory.memory_id,
            text=memory.text,
            score=fused_score(own, self._recipe),
            parts=own,
            role=memory.role,
            speaker=memory.speaker,
            session_id=memory.session_id,
            metadata=memory.metadata,
            created_at=memory.created_at,
        )


def _failed(part: str, error: Unavailable) -> str:
    """Logs that a part could not answer; returns its name."""
    _log.warning("retrieval_degraded", part=part, component=error.component, error=error.message)
    return part


async def _or_nothing(reading: Awaitable[list[Memory]]) -> tuple[list[Memory], list[str]]:
    """What was read from the record; nothing, and the record's name, while it is down."""
    try:
        return await reading, []
    except Unavailable as error:
        return [], [_failed("record", error)]


def _may_surface(entity: Entity, parts: Mapping[Key, dict[str, float]]) -> bool:
    """Active ones, even where the index has not heard of it yet; preloaded ones that this user never mentioned are
    found by name only.
    """
    if not entity.is_current:
        return False
    return entity.mention_count > 0 or "exact" in parts[Key(HitKind.ENTITY, entity.entity_id)]


def _parts(legs: Mapping[str, Scores]) -> dict[Key, dict[str, float]]:
    """Each candidate's parts: the normalised scores that enter the formula, and the raw ones beside them."""
    parts: dict[Key, dict[str, float]] = defaultdict(dict)
    for name, raw_name, scale in (("vector", "cosine", min_max), ("keyword", "bm25", share_of_best)):
        scores = legs.get(name, {})
        for key, score in scores.items():
            parts[key][raw_name] = score
        for key, share in scale(scores).items():
            parts[key][name] = share
    for key, score in legs.get("exact", {}).items():
        parts[key]["exact"] = score
    for key, score in legs.get("graph", {}).items():
        parts[key]["graph"] = score
    for key, score in legs.get("overlap", {}).items():
        parts[key]["keyword"] = max(parts[key].get("keyword", 0.0), score)
    return parts
