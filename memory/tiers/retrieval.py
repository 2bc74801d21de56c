"""Retrieval in three tiers: summaries, then facts, then what was said (002 §4.2)."""

from collections.abc import Awaitable, Callable

from pydantic import Field

from ..facts.validity import is_current
from ..ports.services import Retriever
from ..ports.stores.record import SystemOfRecord
from ..values.base import Timestamp, UserId, Value
from ..values.facts import Fact
from ..values.hits import Hit, HitKind, SearchRequest
from .context import ContextBuilder, RankedCategory
from .fact_search import FactSearch, FoundFacts

MAX_TIER = 3

FindFactSearch = Callable[[], Awaitable[FactSearch]]
"""The search with the live encoder."""


class TieredRequest(Value):
    """A retrieval; an empty query finds the latest facts. `tiers` is how deep it goes, 1 to `MAX_TIER`."""

    user_id: UserId
    query: str = ""
    tiers: int = Field(default=2, ge=1, le=MAX_TIER)
    limit: int = Field(default=10, ge=1)
    now: Timestamp


class TieredResult(Value):
    """What each tier found; tiers that were not asked for are empty.

    Args:
        categories: Tier 1: summaries, highest priority first.
        items: Tier 2: active facts, most relevant first.
        resources: Tier 3: what was said, best first.
        degraded: The parts that could not answer.
    """

    categories: tuple[RankedCategory, ...]
    items: tuple[Fact, ...] = ()
    resources: tuple[Hit, ...] = ()
    degraded: tuple[str, ...] = ()


class TieredRetrieval:
    """Finds what is known of one user, summaries first. What is found is not used yet: it does not count as used.

    Args:
        record: Stores the facts.
        contexts: Ranks the categories.
        facts: Searches the facts.
        retriever: Searches what was said.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        contexts: ContextBuilder,
        facts: FindFactSearch,
        retriever: Retriever,
    ) -> None:
        self._record = record
        self._contexts = contexts
        self._facts = facts
        self._retriever = retriever

    async def retrieve(self, request: TieredRequest) -> TieredResult:
        """Runs the tiers asked for.

        Raises:
            StoreUnavailable: The record is down.
            Overloaded: A queue is full.
        """
        categories = await self._contexts.categories(request.user_id, now=request.now)
        result = TieredResult(categories=tuple(categories))
        if request.tiers >= 2:
            facts = await self._items(request)
            items = tuple(fact for fact in facts.items if is_current(fact, request.now))
            result = result.model_copy(update={"items": items, "degraded": facts.degraded})
        if request.tiers == MAX_TIER and request.query:
            found = await self._retriever.search(
                SearchRequest(
                    query=request.query,
                    user_id=request.user_id,
                    top_k=request.limit,
                    kinds=(HitKind.MEMORY,),
                    now=request.now,
                )
            )
            degraded = tuple(dict.fromkeys((*result.degraded, *found.degraded)))
            result = result.model_copy(update={"resources": found.hits, "degraded": degraded})
        return result

    async def _items(self, request: TieredRequest) -> FoundFacts:
        if request.query:
            search = await self._facts()
            return await search.search(request.query, user_id=request.user_id, limit=request.limit)
        async with self._record.reading(user_id=request.user_id) as unit:
            return FoundFacts(items=tuple(await unit.facts.list(limit=request.limit)))
