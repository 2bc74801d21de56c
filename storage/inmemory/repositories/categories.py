"""Categories of facts and their use in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.facts import Accesses, Categories, CategoryAccessRepository, CategoryRepository
from memory.values.facts import Category, CategoryAccess, FactStatus

from ...shared.checks import check_aware, check_category_id, check_owner
from .facts import list_facts
from .state import InMemoryRepository


class InMemoryCategories(InMemoryRepository, CategoryRepository):
    """The categories of one user."""

    def _named(self, name: str) -> Category | None:
        return next((category for category in self._state.readable.categories.values() if category.name == name), None)

    @override
    async def create(self, category: Category) -> bool:
        check_owner([category], self._state.user_id)
        categories = self._state.writable.categories
        if category.category_id in categories or self._named(category.name) is not None:
            return False
        categories[category.category_id] = category
        return True

    @override
    async def upsert(self, category: Category) -> None:
        check_owner([category], self._state.user_id)
        categories = self._state.writable.categories
        found = self._named(category.name)
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
        return dict(Counter(fact.category for fact in list_facts(self._state.readable, status)))


class InMemoryCategoryAccesses(InMemoryRepository, CategoryAccessRepository):
    """When the categories of one user were used."""

    @override
    async def create_many(self, accesses: Sequence[CategoryAccess]) -> None:
        check_owner(accesses, self._state.user_id)
        stored = self._state.writable.accesses
        for access in accesses:
            stored.setdefault(access.access_id, access)

    @override
    async def list(self) -> Accesses:
        return sorted(self._state.readable.accesses.values(), key=lambda access: access.access_id)

    @override
    async def count_since(self, since: datetime) -> Mapping[str, int]:
        check_aware(since, "since")
        accesses = self._state.readable.accesses.values()
        return dict(Counter(access.category for access in accesses if access.accessed_at >= since))

    @override
    async def last_accessed(self) -> Mapping[str, datetime]:
        accesses = sorted(self._state.readable.accesses.values(), key=lambda access: access.accessed_at)
        return {access.category: access.accessed_at for access in accesses}

    @override
    async def prune(self, *, before: datetime) -> int:
        check_aware(before, "before")
        last, accesses = await self.last_accessed(), self._state.writable.accesses
        old = [
            access.access_id for access in accesses.values() if access.accessed_at < min(before, last[access.category])
        ]
        for access_id in old:
            del accesses[access_id]
        return len(old)
