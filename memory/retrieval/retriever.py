"""Hybrid retrieval: all legs at once, one ranking, and the reasons for it (000 §6, DESIGN §6)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TypeVar

import structlog

from ..language.keywords import KeywordAnalyzer
from ..language.questions import questions_of
from ..ports.language import Encoder
from ..ports.record import SystemOfRecord
from ..ports.services import Retriever
from ..ports.vectors import VectorIndex
from ..values.entities import Entity
from ..values.errors import Unavailable
from ..values.hits import HitKind, SearchRequest, SearchResult
from ..values.records import Memory
from .fusion import CONVERSATION, FusionRecipe
from .graph import graph_leg
from .legs import Key, Scores, dense_leg, exact_leg, keyword_leg, overlap, recent_memories, unindexed_memories
from .linked import linked_leg
from .ranking import Evidence, Ranking

T = TypeVar("T")
_log = structlog.get_logger(__name__)
_MIN_CANDIDATES = 30
_INDEX_LEGS = ("vector", "keyword")


class HybridRetriever(Retriever):
    """Dense, keyword and exact legs in parallel, fused by one recipe; then a second step from what they found best.

    A memory is lifted by its neighbours in the conversation that were found too, by what it shares with the best hit,
    and where the query names who said it; it falls behind where a better hit says the same. A query of several
    sentences is searched for as a whole and by its sentences.

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
        recipe: FusionRecipe = CONVERSATION,
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
        unindexed, evidence, degraded = await self._gather(request, questions_of(request.query, self._analyzer))
        ranking = Ranking(request, self._recipe, evidence)
        try:
            ranking.add(*await self._load(request.user_id, ranking.parts, unindexed))
            if self._recipe.linked and not any(name in degraded for name in _INDEX_LEGS):
                degraded += await self._link(request, ranking, evidence)
        except Unavailable as error:
            return SearchResult(degraded=tuple(dict.fromkeys((*degraded, _failed("record", error)))))
        return SearchResult(hits=tuple(ranking.hits()), degraded=tuple(dict.fromkeys(degraded)))

    async def _gather(
        self, request: SearchRequest, questions: Sequence[str]
    ) -> tuple[list[Memory], Evidence, list[str]]:
        """What the index does not hold yet, what the legs say, and which parts could not answer."""
        (unindexed, lost), (by_index, others, degraded) = await asyncio.gather(
            _or_nothing(unindexed_memories(request, self._record)), self._run_legs(request, questions)
        )
        if any(name in degraded for name in _INDEX_LEGS):
            recent, also_lost = await _or_nothing(recent_memories(request, self._record))
            unindexed, lost = [*unindexed, *recent], [*lost, *also_lost]
        others["overlap"] = overlap(request, unindexed, self._analyzer)
        evidence = Evidence(by_index.get("vector", ()), by_index.get("keyword", ()), others)
        return unindexed, evidence, [*degraded, *lost]

    async def _run_legs(
        self, request: SearchRequest, questions: Sequence[str]
    ) -> tuple[dict[str, list[Scores]], dict[str, Scores], list[str]]:
        """What the legs of the index say of each question, what the others say, and which could not answer."""
        limit = _limit(request)
        by_index = {
            "vector": dense_leg(request, questions, self._encoder, self._index, limit=limit),
            "keyword": keyword_leg(request, questions, self._analyzer, self._index, limit=limit),
        }
        others = {"exact": exact_leg(request, self._record)}
        if self._recipe.graph:
            others["graph"] = graph_leg(request, self._record)
        (found, lost), (also_found, also_lost) = await asyncio.gather(_answers(by_index), _answers(others))
        return found, also_found, [*lost, *also_lost]

    async def _link(self, request: SearchRequest, ranking: Ranking, evidence: Evidence) -> list[str]:
        """Adds what memory says of the things that the best hits name; the name of the step where it could not."""
        scores = ranking.memory_scores()
        best = evidence.best_memories(self._recipe) or sorted(scores, key=lambda id_: (-scores[id_], id_))[:1]
        starts = ranking.memories(dict.fromkeys(best))
        step = linked_leg(request, scores, starts, self._analyzer, self._index, limit=_limit(request))
        found, degraded = await _answers({"linked": step})
        if new := ranking.link(found.get("linked", {})):
            ranking.add(*await self._load(request.user_id, new, ()))
        return degraded

    async def _load(
        self, user_id: str, keys: Iterable[Key], unindexed: Iterable[Memory]
    ) -> tuple[list[Entity], list[Memory], Mapping[str, str]]:
        """The candidates, and for each memory the one before it in its session."""
        wanted = defaultdict(list)
        for key in keys:
            wanted[key.kind].append(key.id)
        async with self._record.reading(user_id=user_id) as unit:
            entities = await unit.entities.get(wanted[HitKind.ENTITY])
            stored = await unit.memories.get(wanted[HitKind.MEMORY])
            previous = await unit.memories.previous(wanted[HitKind.MEMORY]) if self._recipe.beside else {}
        memories = {memory.memory_id: memory for memory in (*unindexed, *stored)}
        return entities, [memories[id_] for id_ in wanted[HitKind.MEMORY] if id_ in memories], previous


def _limit(request: SearchRequest) -> int:
    return max(_MIN_CANDIDATES, 3 * request.top_k)


async def _answers(running: Mapping[str, Awaitable[T]]) -> tuple[dict[str, T], list[str]]:
    """What answered, by name, and the names of those that could not."""
    outcomes = await asyncio.gather(*running.values(), return_exceptions=True)
    found: dict[str, T] = {}
    lost: list[str] = []
    for name, outcome in zip(running, outcomes, strict=True):
        if isinstance(outcome, Unavailable):
            lost.append(_failed(name, outcome))
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            found[name] = outcome
    return found, lost


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
