"""Items in SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.items import ItemRepository
from memory.values.items import ItemCollection, ItemOrder, ItemPlace, StoredItem, labels_of, path_of

from ...shared.checks import check_aware, check_owner
from ...shared.items import end_of
from ...shared.stored_values import timestamp_us
from ..engine.transaction import SqliteRepository

_GET = "SELECT body FROM items WHERE user_id = ? AND collection = ? AND path = ? AND key = ?"
_PUT = """
    INSERT INTO items (user_id, collection, path, key, updated_us, expires_us, body) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id, collection, path, key) DO UPDATE SET
    updated_us = excluded.updated_us, expires_us = excluded.expires_us, body = excluded.body
"""
_DELETE = "DELETE FROM items WHERE user_id = ? AND collection = ? AND path = ? AND key = ?"
_PAGE = "SELECT body FROM items WHERE user_id = ? AND collection = ?{} ORDER BY {} LIMIT ?"
_WITHIN = " AND path >= ? AND path < ?"
_ORDERS = {
    ItemOrder.LATEST: "updated_us DESC, path, key",
    ItemOrder.KEY: "path, key",
    ItemOrder.KEY_DESCENDING: "path DESC, key DESC",
}
_BEHIND = {
    ItemOrder.LATEST: " AND updated_us <= ? AND (updated_us < ? OR (path, key) > (?, ?))",
    ItemOrder.KEY: " AND (path, key) > (?, ?)",
    ItemOrder.KEY_DESCENDING: " AND (path, key) < (?, ?)",
}
_PATHS = """
    SELECT DISTINCT path FROM items WHERE user_id = ? AND collection = ? AND (expires_us IS NULL OR expires_us > ?)
    ORDER BY path
"""
_DELETE_EXPIRED = "DELETE FROM items WHERE user_id = ? AND expires_us <= ?"


class SqliteItems(SqliteRepository, ItemRepository):
    """The items of one user."""

    @override
    async def get(self, places: Sequence[ItemPlace]) -> list[StoredItem]:
        def work(connection: sqlite3.Connection) -> list[StoredItem]:
            rows = (connection.execute(_GET, (self._user_id, *_columns(place))).fetchone() for place in places)
            return [StoredItem.model_validate_json(row[0]) for row in rows if row is not None]

        return await self._transaction.read(work)

    @override
    async def put(self, items: Sequence[StoredItem]) -> None:
        check_owner(items, self._user_id)
        rows = [(self._user_id, *_columns(item.place), *_row(item)) for item in items]

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(_PUT, rows)

        await self._transaction.write(work)

    @override
    async def delete(self, places: Sequence[ItemPlace]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            return sum(connection.execute(_DELETE, (self._user_id, *_columns(place))).rowcount for place in places)

        return await self._transaction.write(work)

    @override
    async def page(
        self,
        collection: ItemCollection,
        *,
        prefix: Sequence[str] = (),
        order: ItemOrder = ItemOrder.KEY,
        behind: StoredItem | None = None,
        limit: int,
    ) -> list[StoredItem]:
        where, parameters = "", list[object]()
        if prefix:
            where += _WITHIN
            parameters += path_of(prefix), end_of(prefix)
        if behind is not None:
            where += _BEHIND[order]
            parameters += [timestamp_us(behind.updated_at)] * 2 if order is ItemOrder.LATEST else []
            parameters += _columns(behind.place)[1:]
        statement = _PAGE.format(where, _ORDERS[order])
        return await self._values(StoredItem, statement, collection.value, *parameters, max(limit, 0))

    @override
    async def namespaces(self, collection: ItemCollection, *, at: datetime) -> list[tuple[str, ...]]:
        at_us = timestamp_us(check_aware(at, "at"))
        return [labels_of(path) for (path,) in await self._rows(_PATHS, collection.value, at_us)]

    @override
    async def delete_expired(self, *, at: datetime) -> int:
        return await self._change(_DELETE_EXPIRED, timestamp_us(check_aware(at, "at")))


def _columns(place: ItemPlace) -> tuple[str, str, str]:
    return place.collection.value, path_of(place.namespace), place.key


def _row(item: StoredItem) -> tuple[int, int | None, str]:
    expires_us = None if item.expires_at is None else timestamp_us(item.expires_at)
    return timestamp_us(item.updated_at), expires_us, item.model_dump_json()
