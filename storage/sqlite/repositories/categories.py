"""Categories of facts and when they were used, in SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.facts import Categories, CategoryAccessRepository, CategoryRepository
from memory.values.facts import Category, CategoryAccess, FactStatus

from ...shared.checks import check_category_id, check_moment, check_owner
from ...shared.timestamps import microseconds, moment_of
from ..engine.transaction import Transaction
from .facts import status_clause

_CREATE = "INSERT INTO categories (user_id, category_id, name, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_REPLACE = "UPDATE categories SET body = ? WHERE user_id = ? AND name = ?"
_CREATE_ACCESS = """
    INSERT INTO category_accesses (user_id, access_id, category, accessed_us, source) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, access_id) DO NOTHING
"""
_COUNT_SINCE = """
    SELECT category, count(*) FROM category_accesses WHERE user_id = ? AND accessed_us >= ? GROUP BY category
"""
_LAST = "SELECT category, max(accessed_us) FROM category_accesses WHERE user_id = ? GROUP BY category"


class SqliteCategories(CategoryRepository):
    """The categories of one user."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, category_id: str) -> Category | None:
        return await self._transaction.read(lambda connection: self._one(connection, "category_id", category_id))

    @override
    async def get_by_name(self, name: str) -> Category | None:
        return await self._transaction.read(lambda connection: self._one(connection, "name", name))

    @override
    async def create(self, category: Category) -> bool:
        check_owner([category], self._user_id)
        return bool(await self._transaction.change(_CREATE, *_row(category)))

    @override
    async def upsert(self, category: Category) -> None:
        check_owner([category], self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            found = self._one(connection, "name", category.name)
            if found is not None:
                kept = category.model_copy(update={"category_id": found.category_id})
                connection.execute(_REPLACE, (kept.model_dump_json(), self._user_id, category.name))
            else:
                check_category_id(category, self._one(connection, "category_id", category.category_id))
                connection.execute(_CREATE, (self._user_id, *_row(category)))

        await self._transaction.write(work)

    @override
    async def list(self) -> Categories:
        def work(connection: sqlite3.Connection) -> Categories:
            rows = connection.execute("SELECT body FROM categories WHERE user_id = ? ORDER BY name", (self._user_id,))
            return [Category.model_validate_json(body) for (body,) in rows]

        return await self._transaction.read(work)

    @override
    async def count_items_per_category(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Mapping[str, int]:
        where, which = status_clause(status)
        statement = f"SELECT category, count(*) FROM facts WHERE user_id = ?{where} GROUP BY category"  # noqa: S608

        def work(connection: sqlite3.Connection) -> dict[str, int]:
            return dict(connection.execute(statement, (self._user_id, *which)).fetchall())

        return await self._transaction.read(work)

    def _one(self, connection: sqlite3.Connection, column: str, value: str) -> Category | None:
        statement = f"SELECT body FROM categories WHERE user_id = ? AND {column} = ?"  # noqa: S608
        row = connection.execute(statement, (self._user_id, value)).fetchone()
        return None if row is None else Category.model_validate_json(row[0])


def _row(category: Category) -> tuple[str, str, str]:
    return category.category_id, category.name, category.model_dump_json()


class SqliteCategoryAccesses(CategoryAccessRepository):
    """When the categories of one user were used."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def create_many(self, accesses: Sequence[CategoryAccess]) -> None:
        check_owner(accesses, self._user_id)
        rows = [
            (access.user_id, access.access_id, access.category, microseconds(access.accessed_at), access.source)
            for access in accesses
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(_CREATE_ACCESS, rows)

        await self._transaction.write(work)

    @override
    async def count_since(self, since: datetime) -> Mapping[str, int]:
        first = microseconds(check_moment(since, "since"))

        def work(connection: sqlite3.Connection) -> dict[str, int]:
            return dict(connection.execute(_COUNT_SINCE, (self._user_id, first)).fetchall())

        return await self._transaction.read(work)

    @override
    async def last_accessed(self) -> Mapping[str, datetime]:
        def work(connection: sqlite3.Connection) -> dict[str, datetime]:
            return {category: moment_of(last) for category, last in connection.execute(_LAST, (self._user_id,))}

        return await self._transaction.read(work)
