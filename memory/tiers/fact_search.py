"""Finds active facts by what they say: in the vector index, or by shared terms while that is away (002 §4.2)."""

from collections import defaultdict
from collections.abc import Sequence

import structlog

from ..language.glossary import query_across
from ..language.keywords import KeywordAnalyzer
from ..language.wording import fact_text
from ..ports.models.language import Encoder, Priority, TextKind
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import Collection, IndexQuery, ScoredPoint, VectorIndex
from ..values.base import Value
from ..values.errors import Unavailable, raise_if_busy
from ..values.facts import Fact, FactStatus

_MIN_CANDIDATES = 30
_COMPARED = 2_000
"""So many latest active facts are compared with the query where the index is away."""
_MAX_WAITING = 256
"""So many items that wait for the index are looked through."""
_log = structlog.get_logger(__name__)


class FoundFacts(Value):
    """Active facts, most relevant first; `degraded` names the parts that could not answer."""

    items: tuple[Fact, ...]
    degraded: tuple[str, ...] = ()


class FactSearch:
    """Searches facts by vectors and keywords, whose scores count equally.

    Args:
        record: Stores the facts.
        encoder: Encodes queries; the encoder of the index's vectors.
        index: Holds `Collection.FACTS`.
        analyzer: Splits queries into terms.
    """

    def __init__(
        self, *, record: SystemOfRecord, encoder: Encoder, index: VectorIndex, analyzer: KeywordAnalyzer
    ) -> None:
        self._record = record
        self._encoder = encoder
        self._index = index
        self._analyzer = analyzer

    async def search(self, query: str, *, user_id: str, limit: int) -> FoundFacts:
        """The facts that are nearest to a query.

        Raises:
            StoreUnavailable: The record is down.
            Overloaded: The encoder's queue is full.
        """
        try:
            legs = await self._search_index(query, user_id=user_id, limit=max(_MIN_CANDIDATES, 3 * limit))
        except Unavailable as error:
            raise_if_busy(error)
            _log.warning("fact_search_degraded", component=error.component, error=error.message)
            return FoundFacts(items=await self._share_terms(query, user_id=user_id, limit=limit), degraded=("vector",))
        legs.append(await self._search_waiting(query, user_id=user_id))
        async with self._record.reading(user_id=user_id) as unit:
            facts = await unit.facts.get_many(_fused(legs))
        # The index may lag behind the record.
        return FoundFacts(items=tuple(fact for fact in facts if fact.status is FactStatus.ACTIVE)[:limit])

    async def _search_index(self, query: str, *, user_id: str, limit: int) -> list[list[ScoredPoint]]:
        active = {"status": FactStatus.ACTIVE.value}
        [dense] = await self._encoder.encode([query], kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
        queries = [IndexQuery(Collection.FACTS, limit, dense=dense, where=active)]
        sparse = query_across(query, self._analyzer)
        if sparse.indices:
            queries.append(IndexQuery(Collection.FACTS, limit, sparse=sparse, where=active))
        return await self._index.search(queries, user_id=user_id)

    async def _share_terms(self, query: str, *, user_id: str, limit: int) -> tuple[Fact, ...]:
        """The facts that share a term with the query, those that share most first, of equal ones the latest."""
        async with self._record.reading(user_id=user_id) as unit:
            facts = await unit.facts.list(limit=_COMPARED)
            found = await unit.facts.get_many([point.point_id for point in self._by_terms(query, facts)[:limit]])
        return tuple(found)

    async def _search_waiting(self, query: str, *, user_id: str) -> list[ScoredPoint]:
        """The facts that the index has not seen yet and that share terms with the query."""
        entries = await self._record.backlog.outbox(limit=_MAX_WAITING, user_id=user_id)
        ids = [entry.item_id for entry in entries if entry.collection is Collection.FACTS]
        if not ids:
            return []
        async with self._record.reading(user_id=user_id) as unit:
            return self._by_terms(query, await unit.facts.get_many(ids))

    def _by_terms(self, query: str, facts: Sequence[Fact]) -> list[ScoredPoint]:
        """The facts that share a term with the query, by the number of terms; of equal ones in their order."""
        asked = self._analyzer.content_terms(query)
        shared = [
            ScoredPoint(fact.fact_id, len(asked & self._analyzer.content_terms(fact_text(fact)))) for fact in facts
        ]
        return sorted((point for point in shared if point.score), key=lambda point: -point.score)


def _fused(legs: Sequence[Sequence[ScoredPoint]]) -> list[str]:
    """The ids of all legs by the sum of their scores, each leg's between its lowest and highest (DESIGN §6)."""
    scores: dict[str, float] = defaultdict(float)
    for points in legs:
        if not points:
            continue
        lowest, highest = points[-1].score, points[0].score
        for point in points:
            scores[point.point_id] += (point.score - lowest) / (highest - lowest) if highest > lowest else 1.0
    return sorted(scores, key=lambda point_id: (-scores[point_id], point_id))
