"""The memories that a filter of mem0's lets through, listed or searched."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from memory.ports.stores.places import Place
from memory.ports.stores.record import UnitOfWork
from memory.values.errors import InvalidField
from memory.values.hits import MAX_TOP_K, HitKind, SearchFilter, SearchRequest
from memory.values.records import Memory

from ...support.services import Services
from .bodies import FilterBody, SearchBody
from .filters import ANY, Condition, Filter, mentions, required
from .kept import LABELS, KeptMemory, categories_of, memory_of_hit

_PAGE = 256
_MAX_SEARCHED = 64
"""Users of one search."""


@dataclass(frozen=True)
class Selection:
    """Which memories of which users are meant.

    Args:
        owners: The stored ids of the users.
        filter: What the memories have to meet.
        today: The last day of what counts as expired is before it; None for what has expired, too.
    """

    owners: Sequence[str]
    filter: Filter
    today: date | None

    def lets_through(self, memory: KeptMemory) -> bool:
        """Whether a memory is meant."""
        return not (self.today is not None and memory.memory.is_expired(self.today)) and self.filter.holds(memory)


def selection_of(body: FilterBody, owners: Sequence[str], *, now: datetime) -> Selection:
    """What a body means."""
    return Selection(owners, body.filter(), None if body.show_expired else now.date())


async def list_memories(services: Services, selection: Selection) -> list[KeptMemory]:
    """All memories that are meant, latest first. It reads all memories of the users."""
    found: list[KeptMemory] = []
    for owner in selection.owners:
        await services.guard.check(owner)
        async with services.record.reading(user_id=owner) as unit:
            async for page in _timeline(unit):
                kept = await _kept(unit, page) if mentions(selection.filter, "categories") else map(KeptMemory, page)
                found += [memory for memory in kept if selection.lets_through(memory)]
    return sorted(found, key=lambda kept: kept.memory.created_at, reverse=True)


async def with_categories(services: Services, memories: Sequence[KeptMemory]) -> list[KeptMemory]:
    """The memories with their categories, in the order given."""
    found: dict[str, KeptMemory] = {}
    for owner in {kept.memory.user_id for kept in memories}:
        own = [kept.memory for kept in memories if kept.memory.user_id == owner]
        async with services.record.reading(user_id=owner) as unit:
            found |= {kept.memory.memory_id: kept for kept in await _kept(unit, own)}
    return [found[kept.memory.memory_id] for kept in memories]


async def search_memories(
    services: Services, selection: Selection, body: SearchBody, now: datetime
) -> list[KeptMemory]:
    """The best of the memories that are meant. Of each user it takes the best hundred, and what of them is meant.

    Raises:
        InvalidField: The filter leaves too many users.
    """
    if len(selection.owners) > _MAX_SEARCHED:
        raise InvalidField(
            f"filters: they leave {len(selection.owners)} users, too many for a search",
            field="filters.user_id",
            allowed=f"the ids of at most {_MAX_SEARCHED} users",
        )
    each = await asyncio.gather(*(_search(services, owner, selection, body, now) for owner in selection.owners))
    best = sorted((kept for found in each for kept in found), key=lambda kept: -(kept.score or 0.0))
    return best[: body.wanted]


async def _search(
    services: Services, owner: str, selection: Selection, body: SearchBody, now: datetime
) -> list[KeptMemory]:
    await services.guard.check(owner)
    request = SearchRequest(
        query=body.query,
        user_id=owner,
        top_k=MAX_TOP_K,
        kinds=(HitKind.MEMORY,),
        filters=_search_filter(selection.filter),
        with_expired=selection.today is None,
        now=body.asked_at(now),
    )
    result = await services.retriever.search(request)
    services.count_degraded(result.degraded)
    async with services.record.reading(user_id=owner) as unit:
        stored = {memory.memory_id: memory for memory in await unit.memories.get([hit.id for hit in result.hits])}
        memories = [stored.get(hit.id) or memory_of_hit(hit, user_id=owner) for hit in result.hits]
        kept = await _kept(unit, memories)
    return [
        scored
        for one, hit in zip(kept, result.hits, strict=True)
        if hit.score > 0 and hit.score >= body.threshold
        if selection.lets_through(scored := KeptMemory(one.memory, one.categories, min(1.0, hit.score)))
    ]


def _search_filter(filter_: Filter) -> SearchFilter:
    """What of a filter the index can compare: conditions that all have to hold."""
    session_id: str | None = None
    metadata: dict[str, Any] = {}
    times: dict[str, datetime] = {}
    for condition in required(filter_):
        match condition:
            case Condition("run_id", "eq", str() as value) if value != ANY:
                session_id = value
            case Condition("agent_id" | "app_id" as field, "eq", str() as value) if value != ANY:
                metadata[field] = value
            case Condition("metadata", "eq", str() | int() | float() as value, key) if (
                value != ANY and key not in LABELS
            ):
                metadata[key] = value
            case Condition("created_at", "gte", datetime() as value):
                times["created_from"] = value
            case Condition("created_at", "lte", datetime() as value):
                times["created_to"] = value
    return SearchFilter(
        session_id=session_id,
        metadata=metadata,
        created_from=times.get("created_from"),
        created_to=times.get("created_to"),
    )


async def _timeline(unit: UnitOfWork) -> AsyncIterator[list[Memory]]:
    behind: Place | None = None
    while page := await unit.memories.timeline(behind=behind, limit=_PAGE):
        yield [memory for memory in page if not memory.is_anonymised]
        behind = page[-1].created_at, page[-1].memory_id


async def _kept(unit: UnitOfWork, memories: Sequence[Memory]) -> list[KeptMemory]:
    facts = await unit.facts.stated_in([memory.resource_id for memory in memories if memory.resource_id])
    return [KeptMemory(memory, categories_of(memory, facts)) for memory in memories]
