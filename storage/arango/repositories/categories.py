"""Categories of facts and when they were used, in ArangoDB."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.facts import Accesses, Categories, CategoryAccessRepository, CategoryRepository
from memory.values.facts import Category, CategoryAccess, FactStatus

from ...shared.checks import check_aware, check_category_id, check_owner
from ...shared.stored_values import from_timestamp_us, timestamp_us
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import ascii_of, key_of, order_of, text_of
from ..engine.transaction import Query
from .facts import facts_by_category

_COLLECTION = "categories"
_ACCESSES = "category_accesses"


class ArangoCategories(ArangoRepository, CategoryRepository):
    """The categories of one user; a document's key is that of the name."""

    @override
    async def create(self, category: Category) -> bool:
        check_owner([category], self._user_id)

        def work(query: Query) -> bool:
            if self._named(query, category.name) or _with_id(query, category.category_id):
                return False
            self._put(query, category)
            return True

        return await self._transaction.write(work)

    @override
    async def upsert(self, category: Category) -> None:
        check_owner([category], self._user_id)

        def work(query: Query) -> None:
            found = self._named(query, category.name)
            if found is not None:
                self._put(query, category.model_copy(update={"category_id": found.category_id}))
            else:
                check_category_id(category, _with_id(query, category.category_id))
                self._put(query, category)

        await self._transaction.write(work)

    @override
    async def list(self) -> Categories:
        def work(query: Query) -> Categories:
            return sorted(documents.parse(Category, query(aql.CATEGORIES)), key=lambda category: category.name)

        return await self._transaction.read(work)

    @override
    async def count_items_per_category(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Mapping[str, int]:
        return await facts_by_category(self._transaction, status)

    def _named(self, query: Query, name: str) -> Category | None:
        return next(iter(documents.by_id(query, _COLLECTION, Category, self._user_id, [name])), None)

    def _put(self, query: Query, category: Category) -> None:
        document = {
            "_key": key_of(self._user_id, category.name),
            "order": order_of(category.category_id),
            "body": category.model_dump_json(),
        }
        documents.put(query, _COLLECTION, [document])


def _with_id(query: Query, category_id: str) -> Category | None:
    bodies = query(aql.CATEGORY_BY_ID, order=order_of(category_id))
    return next(iter(documents.parse(Category, bodies)), None)


class ArangoCategoryAccesses(ArangoRepository, CategoryAccessRepository):
    """When the categories of one user were used."""

    @override
    async def create_many(self, accesses: Sequence[CategoryAccess]) -> None:
        check_owner(accesses, self._user_id)
        first: dict[str, CategoryAccess] = {}
        for access in accesses:
            first.setdefault(key_of(self._user_id, access.access_id), access)

        def work(query: Query) -> None:
            stored = documents.existing(query, _ACCESSES, first)
            documents.put(
                query,
                _ACCESSES,
                [
                    {
                        "_key": key,
                        "category": ascii_of(access.category),
                        "accessed_us": timestamp_us(access.accessed_at),
                        "body": access.model_dump_json(),
                    }
                    for key, access in first.items()
                    if key not in stored
                ],
            )

        await self._transaction.write(work)

    @override
    async def list(self) -> Accesses:
        accesses = await self._values(CategoryAccess, aql.CATEGORY_ACCESSES)
        return sorted(accesses, key=lambda access: access.access_id)

    @override
    async def count_since(self, since: datetime) -> Mapping[str, int]:
        first = timestamp_us(check_aware(since, "since"))

        def work(query: Query) -> dict[str, int]:
            return {text_of(name): int(total) for name, total in query(aql.CATEGORIES_USED, since=first)}

        return await self._transaction.read(work)

    @override
    async def last_accessed(self) -> Mapping[str, datetime]:
        def work(query: Query) -> dict[str, datetime]:
            return {text_of(name): from_timestamp_us(last) for name, last in query(aql.CATEGORIES_LAST_USED)}

        return await self._transaction.read(work)

    @override
    async def prune(self, *, before: datetime) -> int:
        limit = timestamp_us(check_aware(before, "before"))

        def work(query: Query) -> int:
            last = dict(query(aql.CATEGORIES_LAST_USED))
            old = query(aql.CATEGORY_ACCESSES_BEFORE, before=limit)
            return documents.remove(query, _ACCESSES, [key for key, category, at in old if at < last[category]])

        return await self._transaction.write(work)
