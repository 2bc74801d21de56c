"""The repositories of the system of record in memory: facts, their categories and their graph."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import fsum

from typing_extensions import override

from memory.ports.facts import (
    Categories,
    CategoryAccessRepository,
    CategoryRepository,
    FactRepository,
    Facts,
    GraphRepository,
    Strings,
)
from memory.ports.vectors import Collection
from memory.values.errors import NotFound
from memory.values.facts import Category, CategoryAccess, Fact, FactStatus, GraphEdge

from ..shared.checks import check_aware, check_category_id, check_owner
from ..shared.graphs import check_depth, check_weight, walk
from ..shared.names import comparable
from ..shared.stored_values import with_status
from .state import State, UserData


def _facts(data: UserData, status: FactStatus | None, category: str | None = None) -> Facts:
    """Latest first, then by id."""
    found = [
        data.facts[fact_id]
        for fact_id in sorted(data.facts)
        if status in (None, data.facts[fact_id].status) and category in (None, data.facts[fact_id].category)
    ]
    return sorted(found, key=lambda fact: fact.recorded_at, reverse=True)


class InMemoryFacts(FactRepository):
    """The facts of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def get(self, fact_id: str) -> Fact | None:
        return self._state.readable.facts.get(fact_id)

    @override
    async def get_many(self, fact_ids: Sequence[str]) -> Facts:
        facts = self._state.readable.facts
        return [facts[fact_id] for fact_id in fact_ids if fact_id in facts]

    @override
    async def create_many(self, facts: Sequence[Fact]) -> Strings:
        check_owner(facts, self._state.user_id)
        kept = self._state.writable.facts
        for fact in facts:
            if fact.fact_id not in kept:
                kept[fact.fact_id] = fact
                self._state.queue(Collection.FACTS, [fact.fact_id])
        return [fact.fact_id for fact in facts]

    @override
    async def update(self, fact: Fact) -> None:
        check_owner([fact], self._state.user_id)
        facts = self._state.writable.facts
        if fact.fact_id not in facts:
            raise NotFound(f"There is no fact {fact.fact_id!r}.")
        facts[fact.fact_id] = fact
        self._state.queue(Collection.FACTS, [fact.fact_id])

    @override
    async def update_status(self, fact_id: str, status: FactStatus, *, now: datetime) -> bool:
        check_aware(now, "now")
        fact = self._state.writable.facts.get(fact_id)
        if fact is not None:
            await self.update(with_status(fact, status, now=now))
        return fact is not None

    @override
    async def list(
        self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE, limit: int = 100
    ) -> Facts:
        return self._of(status, category)[: max(limit, 0)]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Facts:
        facts = self._state.readable.facts
        return [facts[one] for one in sorted(facts) if after is None or one > after][: max(limit, 0)]

    @override
    async def count(self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE) -> int:
        return len(self._of(status, category))

    @override
    async def find_potential_conflicts(self, subject: str, predicate: str, *, exclude_id: str | None = None) -> Facts:
        said = (comparable(subject), comparable(predicate))
        return [fact for fact in self._active() if _said(fact)[:2] == said and fact.fact_id != exclude_id]

    @override
    async def list_duplicates(self) -> Sequence[tuple[Fact, ...]]:
        groups = defaultdict(list)
        for fact in sorted(self._active(), key=lambda fact: (fact.recorded_at, fact.fact_id)):
            groups[_said(fact)].append(fact)
        found = [tuple(group) for group in groups.values() if len(group) > 1]
        return sorted(found, key=lambda group: group[0].fact_id)

    @override
    async def count_by_subject_recent(self, subject: str, *, since: datetime) -> int:
        check_aware(since, "since")
        name = comparable(subject)
        return sum(_said(fact)[0] == name and fact.recorded_at >= since for fact in self._active())

    @override
    async def list_distinct_categories(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return sorted({fact.category for fact in self._of(status)})

    @override
    async def list_old_low_confidence(self, *, recorded_before: datetime, below: float) -> Facts:
        check_aware(recorded_before, "recorded_before")
        return [fact for fact in self._active() if fact.recorded_at < recorded_before and fact.confidence < below]

    @override
    async def get_stats_by_status(self) -> Mapping[FactStatus, int]:
        found = Counter(fact.status for fact in self._of(None))
        return {status: found[status] for status in FactStatus}

    @override
    async def get_avg_confidence(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> float | None:
        found = self._of(status)
        return fsum(fact.confidence for fact in found) / len(found) if found else None

    @override
    async def list_all_ids(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return sorted(fact.fact_id for fact in self._of(status))

    @override
    async def get_superseding(self, archived_id: str) -> Fact | None:
        return next((fact for fact in self._of(None) if fact.supersedes == archived_id), None)

    def _of(self, status: FactStatus | None, category: str | None = None) -> Facts:
        return _facts(self._state.readable, status, category)

    def _active(self) -> Facts:
        return self._of(FactStatus.ACTIVE)


class InMemoryCategories(CategoryRepository):
    """The categories of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def get(self, category_id: str) -> Category | None:
        return self._state.readable.categories.get(category_id)

    @override
    async def get_by_name(self, name: str) -> Category | None:
        return next((one for one in self._state.readable.categories.values() if one.name == name), None)

    @override
    async def create(self, category: Category) -> bool:
        check_owner([category], self._state.user_id)
        categories = self._state.writable.categories
        if category.category_id in categories or await self.get_by_name(category.name) is not None:
            return False
        categories[category.category_id] = category
        return True

    @override
    async def upsert(self, category: Category) -> None:
        check_owner([category], self._state.user_id)
        categories = self._state.writable.categories
        found = await self.get_by_name(category.name)
        if found is not None:
            categories[found.category_id] = category.model_copy(update={"category_id": found.category_id})
        else:
            check_category_id(category, categories.get(category.category_id))
            categories[category.category_id] = category

    @override
    async def list(self) -> Categories:
        return sorted(self._state.readable.categories.values(), key=lambda category: category.name)

    @override
    async def count_items_per_category(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Mapping[str, int]:
        return dict(Counter(fact.category for fact in _facts(self._state.readable, status)))


class InMemoryCategoryAccesses(CategoryAccessRepository):
    """When the categories of one user were used."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def create_many(self, accesses: Sequence[CategoryAccess]) -> None:
        check_owner(accesses, self._state.user_id)
        kept = self._state.writable.accesses
        for access in accesses:
            kept.setdefault(access.access_id, access)

    @override
    async def count_since(self, since: datetime) -> Mapping[str, int]:
        check_aware(since, "since")
        accesses = self._state.readable.accesses.values()
        return dict(Counter(access.category for access in accesses if access.accessed_at >= since))

    @override
    async def last_accessed(self) -> Mapping[str, datetime]:
        accesses = sorted(self._state.readable.accesses.values(), key=lambda access: access.accessed_at)
        return {access.category: access.accessed_at for access in accesses}


class InMemoryGraph(GraphRepository):
    """The graph of one user's facts."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def create_many(self, edges: Sequence[GraphEdge]) -> list[str]:
        check_owner(edges, self._state.user_id)
        kept = self._state.writable.edges
        by_names = {_said(edge): edge_id for edge_id, edge in kept.items()}
        ids = []
        for edge in edges:
            edge_id = by_names.get(_said(edge), edge.edge_id)
            if edge_id not in kept:
                kept[edge_id] = edge
                by_names[_said(edge)] = edge_id
            ids.append(edge_id)
        return ids

    @override
    async def get_by_subject(self, subject: str) -> list[GraphEdge]:
        name = comparable(subject)
        return [edge for edge in await self.list_all() if _said(edge)[0] == name]

    @override
    async def get_neighbors(self, subject: str, *, depth: int = 1, limit: int = 100) -> Mapping[str, int]:
        check_depth(depth)
        pairs = [_said(edge)[::2] for edge in await self.list_all()]

        def step(frontier: Sequence[str], most: int) -> list[str]:
            found = {end for pair in pairs for near, end in (pair, pair[::-1]) if near in frontier}
            return sorted(found)[:most]

        return walk(comparable(subject), step, depth=depth, limit=limit)

    @override
    async def delete_by_subject(self, subject: str) -> int:
        edges = self._state.writable.edges
        gone = await self.get_by_subject(subject)
        for edge in gone:
            del edges[edge.edge_id]
        return len(gone)

    @override
    async def list_all(self) -> list[GraphEdge]:
        edges = self._state.readable.edges
        return [edges[edge_id] for edge_id in sorted(edges)]

    @override
    async def delete_all(self) -> int:
        edges = self._state.writable.edges
        gone = len(edges)
        edges.clear()
        return gone

    @override
    async def count(self) -> int:
        return len(self._state.readable.edges)

    @override
    async def update_weight(self, subject: str, predicate: str, object_: str, weight: float) -> bool:
        check_weight(weight)
        edges = self._state.writable.edges
        said = (comparable(subject), comparable(predicate), comparable(object_))
        found = [edge for edge in edges.values() if _said(edge) == said]
        for edge in found:
            edges[edge.edge_id] = edge.model_copy(update={"weight": weight})
        return bool(found)


def _said(one: Fact | GraphEdge) -> tuple[str, str, str]:
    """Subject, predicate and object in the form in which they are compared."""
    return comparable(one.subject), comparable(one.predicate), comparable(one.object)
