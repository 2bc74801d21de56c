"""Hybrid retrieval: all search legs in parallel, fused into one ranking (000 §6, DESIGN §6)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

import structlog
from typing_extensions import override

from ..language.keywords import KeywordAnalyzer
from ..language.questions import questions_of
from ..ports.models.language import Encoder
from ..ports.services import Retriever
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import VectorIndex
from ..values.entities import Entity
from ..values.errors import Unavailable, raise_if_busy
from ..values.hits import HitKind, SearchRequest, SearchResult
from ..values.records import Memory
from .fusion import CONVERSATION, FusionRecipe
from .legs import (
    Key,
    LanguageGap,
    Scores,
    dense_leg,
    exact_leg,
    graph_leg,
    is_name,
    keyword_leg,
    link_leg,
    overlap_leg,
    recent_memories,
    type_leg,
    unindexed_memories,
)
from .ranking import Evidence, Ranking

T = TypeVar("T")
_log = structlog.get_logger(__name__)
_MIN_CANDIDATES = 30
_INDEX_LEGS = ("vector", "keyword")


class HybridRetriever(Retriever):
    """Runs the search legs that a query needs in parallel and fuses them; a second step starts from the best hits.

    A name alone is matched exactly and by its words; any other query is searched by its meaning as well, and for a type
    the latest entities of it are candidates too (000 §6.2). An entity that the query names in full ranks first.

    A memory scores higher if its neighbours in the conversation were found too, if it shares terms with the best hit,
    or if the query names its speaker; it scores lower if a better hit says the same. A query of several sentences is
    searched as a whole and sentence by sentence. With the `gap` of the encoder's languages, memories in another
    language than the query's are as near as what they say.

    A leg whose store or model is unavailable is named in the result's `degraded`, and the others still count; while the
    index is down, recent memories are searched in memory (000 §9.1, DESIGN §7). While the record is down the result is
    empty, with `record` in `degraded`.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        index: VectorIndex,
        record: SystemOfRecord,
        analyzer: KeywordAnalyzer,
        recipe: FusionRecipe = CONVERSATION,
        gap: LanguageGap | None = None,
    ) -> None:
        self._gap = None if gap is None else gap.reduced(recipe.across)
        self._encoder = encoder
        self._index = index
        self._record = record
        self._analyzer = analyzer
        self._recipe = recipe

    @override
    async def search(self, request: SearchRequest) -> SearchResult:
        if not request.filters.is_empty:  # entities carry none of the filtered fields
            request = _of_kind(request, HitKind.MEMORY)
        if request.entity_type is not None:  # memories have no type
            request = _of_kind(request, HitKind.ENTITY)
        unindexed, evidence, degraded = await self._gather(request, questions_of(request.query, self._analyzer))
        ranking = Ranking(request, self._recipe, evidence)
        try:
            ranking.add(*await self._load(request, ranking.parts, unindexed))
            if self._recipe.linked and not any(name in degraded for name in _INDEX_LEGS):
                degraded += await self._link(request, ranking, evidence)
        except Unavailable as error:
            return SearchResult(degraded=tuple(dict.fromkeys((*degraded, log_degraded("record", error)))))
        return SearchResult(hits=tuple(ranking.hits()), degraded=tuple(dict.fromkeys(degraded)))

    async def _gather(
        self, request: SearchRequest, questions: Sequence[str]
    ) -> tuple[list[Memory], Evidence, list[str]]:
        """The memories that are not indexed yet, the evidence of all legs, and the components that were unavailable."""
        (unindexed, failed_reads), (index_legs, other_legs, degraded) = await asyncio.gather(
            _read_or_empty(unindexed_memories(request, self._record)), self._run_legs(request, questions)
        )
        degraded += failed_reads
        if any(name in degraded for name in _INDEX_LEGS):
            recent, failed_reads = await _read_or_empty(recent_memories(request, self._record))
            unindexed = [*unindexed, *recent]
            degraded += failed_reads
        other_legs["overlap"] = overlap_leg(request, unindexed, self._analyzer)
        return unindexed, Evidence(index_legs.get("vector", ()), index_legs.get("keyword", ()), other_legs), degraded

    async def _run_legs(
        self, request: SearchRequest, questions: Sequence[str]
    ) -> tuple[dict[str, list[Scores]], dict[str, Scores], list[str]]:
        """The scores of the index legs for each question, those of the other legs, and the legs that failed."""
        limit = _candidate_limit(request)
        needs_vectors = not await self._is_name(request)
        index_legs = {"keyword": keyword_leg(request, questions, self._analyzer, self._index, limit=limit)}
        if needs_vectors:
            index_legs["vector"] = dense_leg(request, questions, self._encoder, self._index, limit=limit, gap=self._gap)
        other_legs = {"exact": exact_leg(request, self._record)}
        if request.entity_type is not None:
            other_legs["type"] = type_leg(request, self._record)
        if self._recipe.graph:
            other_legs["graph"] = graph_leg(request, self._record)
        (index_scores, failed_index), (other_scores, failed_others) = await asyncio.gather(
            _gather_available(index_legs), _gather_available(other_legs)
        )
        return index_scores, other_scores, [*failed_index, *failed_others]

    async def _is_name(self, request: SearchRequest) -> bool:
        """Whether exact match suffices (000 §6.2): entities are searched for by nothing but a name."""
        if request.kinds != (HitKind.ENTITY,):
            return False
        try:
            return await is_name(request, self._record)
        except Unavailable as error:
            log_degraded("record", error)
            return False

    async def _link(self, request: SearchRequest, ranking: Ranking, evidence: Evidence) -> list[str]:
        """Adds the memories that are linked to the best hits; returns the step's name where it failed."""
        scores = ranking.memory_scores()
        best = evidence.best_memories(self._recipe) or sorted(scores, key=lambda id_: (-scores[id_], id_))[:1]
        hits = ranking.get_memories(dict.fromkeys(best))
        leg = link_leg(request, scores, hits, self._analyzer, self._index, limit=_candidate_limit(request))
        results, degraded = await _gather_available({"linked": leg})
        if new := ranking.add_links(results.get("linked", {})):
            ranking.add(*await self._load(request, new, ()))
        return degraded

    async def _load(
        self, request: SearchRequest, keys: Iterable[Key], unindexed: Iterable[Memory]
    ) -> tuple[list[Entity], list[Memory], Mapping[str, str]]:
        """The candidates, and the id of the memory before each memory in its session."""
        ids = defaultdict(list)
        for key in keys:
            ids[key.kind].append(key.id)
        async with self._record.reading(user_id=request.user_id) as unit:
            entities = await unit.entities.get(ids[HitKind.ENTITY])
            stored = await unit.memories.get(ids[HitKind.MEMORY])
            previous = await unit.memories.previous(ids[HitKind.MEMORY]) if self._recipe.beside else {}
        memories = {memory.memory_id: memory for memory in (*unindexed, *stored) if is_found(memory, request)}
        return entities, [memories[id_] for id_ in ids[HitKind.MEMORY] if id_ in memories], previous


def is_found(memory: Memory, request: SearchRequest) -> bool:
    """Whether a search may find a memory: not one that was anonymised, nor one whose last day is over."""
    is_over = memory.is_expired(request.now.date()) and not request.with_expired
    return not memory.is_anonymised and not is_over


def _of_kind(request: SearchRequest, kind: HitKind) -> SearchRequest:
    return request.model_copy(update={"kinds": tuple(wanted for wanted in request.kinds if wanted is kind)})


def _candidate_limit(request: SearchRequest) -> int:
    return max(_MIN_CANDIDATES, 3 * request.top_k)


async def _gather_available(legs: Mapping[str, Awaitable[T]]) -> tuple[dict[str, T], list[str]]:
    """The results by name, and the names of the legs that were unavailable."""
    outcomes = await asyncio.gather(*legs.values(), return_exceptions=True)
    results: dict[str, T] = {}
    failed: list[str] = []
    for name, outcome in zip(legs, outcomes, strict=True):
        if isinstance(outcome, Unavailable):
            failed.append(log_degraded(name, outcome))
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            results[name] = outcome
    return results, failed


def log_degraded(part: str, error: Unavailable) -> str:
    """Logs that a component was unavailable; returns its name.

    Raises:
        StoreBusy: It is only busy.
    """
    raise_if_busy(error)
    _log.warning("retrieval_degraded", part=part, component=error.component, error=error.message)
    return part


async def _read_or_empty(reading: Awaitable[list[Memory]]) -> tuple[list[Memory], list[str]]:
    """The memories; an empty list and the record's name while the record is down."""
    try:
        return await reading, []
    except Unavailable as error:
        return [], [log_degraded("record", error)]
