"""Facts in memory."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import fsum

from typing_extensions import override

from memory.ports.stores.facts import FactRepository, Facts, Strings
from memory.ports.stores.places import Place
from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.errors import NotFound
from memory.values.facts import Fact, FactStatus, GraphEdge

from ...shared.checks import check_aware, check_owner
from ...shared.names import comparable
from ...shared.stored_values import with_status
from .state import InMemoryRepository, UserData, count_accesses, existing, page_of


def list_facts(data: UserData, status: FactStatus | None, category: str | None = None) -> Facts:
    """Latest first, then by id."""
    found = [
        data.facts[fact_id]
        for fact_id in sorted(data.facts)
        if status in (None, data.facts[fact_id].status) and category in (None, data.facts[fact_id].category)
    ]
    return sorted(found, key=lambda fact: fact.recorded_at, reverse=True)


def statement_of(source: Fact | GraphEdge) -> tuple[str, str, str]:
    """Subject, predicate and object in the form in which they are compared."""
    return comparable(source.subject), comparable(source.predicate), comparable(source.object)


class InMemoryFacts(InMemoryRepository, FactRepository):
    """The facts of one user."""

    @override
    async def get(self, fact_id: str) -> Fact | None:
        return self._state.readable.facts.get(fact_id)

    @override
    async def get_many(self, fact_ids: Sequence[str]) -> Facts:
        return existing(self._state.readable.facts, fact_ids)

    @override
    async def create_many(self, facts: Sequence[Fact]) -> Strings:
        check_owner(facts, self._state.user_id)
        stored = self._state.writable.facts
        for fact in facts:
            if fact.fact_id not in stored:
                stored[fact.fact_id] = fact
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
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        count_accesses(self._state.writable.facts, accesses)

    @override
    async def list(
        self,
        *,
        category: str | None = None,
        status: FactStatus | None = FactStatus.ACTIVE,
        behind: Place | None = None,
        limit: int = 100,
    ) -> Facts:
        found = self._of(status, category)
        if behind is not None:
            recorded_at, fact_id = check_aware(behind[0], "behind"), behind[1]
            found = [
                fact
                for fact in found
                if fact.recorded_at < recorded_at or (fact.recorded_at == recorded_at and fact.fact_id > fact_id)
            ]
        return found[: max(limit, 0)]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Facts:
        return page_of(self._state.readable.facts, after, limit)

    @override
    async def count(self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE) -> int:
        return len(self._of(status, category))

    @override
    async def find_potential_conflicts(self, subject: str, predicate: str, *, exclude_id: str | None = None) -> Facts:
        names = (comparable(subject), comparable(predicate))
        return [fact for fact in self._active() if statement_of(fact)[:2] == names and fact.fact_id != exclude_id]

    @override
    async def history(self, subject: str, predicate: str, *, limit: int | None = None) -> Facts:
        names = (comparable(subject), comparable(predicate))
        found = [
            fact for fact in self._of(None) if statement_of(fact)[:2] == names and fact.status is not FactStatus.DELETED
        ]
        return found if limit is None else found[: max(limit, 0)]

    @override
    async def stating(self, subject: str, predicate: str, objects: Sequence[str]) -> Facts:
        names = {comparable(name) for name in objects}
        return [fact for fact in await self.history(subject, predicate) if comparable(fact.object) in names]

    @override
    async def stated_in(self, resource_ids: Sequence[str]) -> Facts:
        entries = frozenset(resource_ids)
        stated = (fact for fact in self._of(None) if fact.resource_id in entries)
        return [fact for fact in stated if fact.status is not FactStatus.DELETED]

    @override
    async def list_duplicates(self) -> Sequence[tuple[Fact, ...]]:
        groups = defaultdict(list)
        for fact in sorted(self._active(), key=lambda fact: (fact.recorded_at, fact.fact_id)):
            groups[statement_of(fact)].append(fact)
        found = [tuple(group) for group in groups.values() if len(group) > 1]
        return sorted(found, key=lambda group: group[0].fact_id)

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

    def _of(self, status: FactStatus | None, category: str | None = None) -> Facts:
        return list_facts(self._state.readable, status, category)

    def _active(self) -> Facts:
        return self._of(FactStatus.ACTIVE)
