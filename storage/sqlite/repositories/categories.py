"""Categories of facts and when they were used, in SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.facts import Accesses, Categories, CategoryAccessRepository, CategoryRepository
from memory.values.facts import Category, CategoryAccess, FactStatus

from ...shared.checks import check_aware, check_category_id, check_owner
from ...shared.stored_values import from_timestamp_us, timestamp_us
from ..engine.transaction import SqliteRepository
from .facts import status_clause

_CREATE = "INSERT INTO categories (user_id, category_id, name, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_REPLACE = "UPDATE categories SET body = ? WHERE user_id = ? AND name = ?"
_CREATE_ACCESS = """
    INSERT INTO category_accesses (user_id, access_id, category, accessed_us, source) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, access_id) DO NOTHING
"""
_ACCESSES = """
    SELECT access_id, category, accessed_us, source FROM category_accesses WHERE user_id = ? ORDER BY access_id
"""
_COUNT_SINCE = """
    SELECT category, count(*) FROM category_accesses WHERE user_id = ? AND accessed_us >= ? GROUP BY category
"""
_PRUNE = """
    DELETE FROM category_accesses WHERE user_id = ?1 AND accessed_us < ?2 AND accessed_us < (
        SELECT max(latest.accessed_us) FROM category_accesses AS latest
        WHERE latest.user_id = ?1 AND latest.category = category_accesses.category
    )
"""
_LAST = "SELECT category, max(accessed_us) FROM category_accesses WHERE user_id = ? GROUP BY category"


class SqliteCategories(SqliteRepository, CategoryRepository):
    """The categories of one user."""

    @override
    async def create(self, category: Category) -> bool:
        check_owner([category], self._user_id)
        return bool(await self._change(_CREATE, *_row(category)))

    @override
    async def upsert(self, category: Category) -> None:
        check_owner([category], self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            found = self._one(connection, "name", category.name)
            if found is not None:
                replacement = category.model_copy(update={"category_id": found.category_id})
                connection.execute(_REPLACE, (replacement.model_dump_json(), self._user_id, category.name))
            else:
                check_category_id(category, self._one(connection, "category_id", category.category_id))
                connection.execute(_CREATE, (self._user_id, *_row(category)))

        await self._transaction.write(work)

    @override
    async def list(self) -> Categories:
        return await self._values(Category, "SELECT body FROM categories WHERE user_id = ? ORDER BY name")

    @override
    async def count_items_per_category(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Mapping[str, int]:
        where, parameters = status_clause(status)
        statement = f"SELECT category, count(*) FROM facts WHERE user_id = ?{where} GROUP BY category"  # noqa: S608
        return dict(await self._rows(statement, *parameters))

    def _one(self, connection: sqlite3.Connection, column: str, value: str) -> Category | None:
        statement = f"SELECT body FROM categories WHERE user_id = ? AND {column} = ?"  # noqa: S608
        row = connection.execute(statement, (self._user_id, value)).fetchone()
        return None if row is None else Category.model_validate_json(row[0])


def _row(category: Category) -> tuple[str, str, str]:
    return category.category_id, category.name, category.model_dump_json()


class SqliteCategoryAccesses(SqliteRepository, CategoryAccessRepository):
    """When the categories of one user were used."""

    @override
    async def create_many(self, accesses: Sequence[CategoryAccess]) -> None:
        check_owner(accesses, self._user_id)
        rows = [
            (access.user_id, access.access_id, access.category, timestamp_us(access.accessed_at), access.source)
            for access in accesses
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(_CREATE_ACCESS, rows)

        await self._transaction.write(work)

    @override
    async def list(self) -> Accesses:
        return [
            CategoryAccess(
                access_id=access_id,
                user_id=self._user_id,
                category=category,
                accessed_at=from_timestamp_us(accessed_us),
                source=source,
            )
            for access_id, category, accessed_us, source in await self._rows(_ACCESSES)
        ]

    @override
    async def count_since(self, since: datetime) -> Mapping[str, int]:
        return dict(await self._rows(_COUNT_SINCE, timestamp_us(check_aware(since, "since"))))

    @override
    async def last_accessed(self) -> Mapping[str, datetime]:
        return {category: from_timestamp_us(last) for category, last in await self._rows(_LAST)}

    @override
    async def prune(self, *, before: datetime) -> int:
        return await self._change(_PRUNE, timestamp_us(check_aware(before, "before")))
