"""API keys in SQLite."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.keys import Keys, KeyStore
from memory.values.access.identity import ApiKey

from ..shared.stored_values import stored_key, timestamp_us, with_last_use
from .engine.connections import ConnectionPool, run_alone

_ADD = "INSERT INTO api_keys (key_id, app, user, version, body) VALUES (?, ?, ?, ?, ?)"
_GET = "SELECT body, last_used_us FROM api_keys WHERE key_id = ?"
_LIST = """
    SELECT body, last_used_us FROM api_keys
    WHERE key_id > :after AND (:app IS NULL OR app = :app) AND (:user IS NULL OR user = :user)
    ORDER BY key_id LIMIT :limit
"""
_REPLACE = "UPDATE api_keys SET version = version + 1, body = ? WHERE key_id = ? AND version = ?"
_DELETE_OF_USER = "DELETE FROM api_keys WHERE app = ? AND user = ?"
_RECORD_USE = "UPDATE api_keys SET last_used_us = ?1 WHERE key_id = ?2 AND coalesce(last_used_us, 0) < ?1"


class SqliteKeys(KeyStore):
    """API keys in a table of their own.

    Args:
        reader: The connections that read.
        writer: The connection that units of work write with.
    """

    def __init__(self, *, reader: ConnectionPool, writer: ConnectionPool) -> None:
        self._reader = reader
        self._writer = writer

    @override
    async def add(self, key: ApiKey) -> None:
        row = (key.key_id, key.app, key.user, key.version, stored_key(key))
        await run_alone(self._writer, lambda connection: connection.execute(_ADD, row).rowcount, commit=True)

    @override
    async def get(self, key_id: str) -> ApiKey | None:
        def work(connection: sqlite3.Connection) -> ApiKey | None:
            row = connection.execute(_GET, (key_id,)).fetchone()
            return with_last_use(*row) if row else None

        return await run_alone(self._reader, work)

    @override
    async def list(
        self, *, app: str | None = None, user: str | None = None, after: str | None = None, limit: int
    ) -> Keys:
        bind = {"app": app, "user": user, "after": after or "", "limit": max(limit, 0)}

        def work(connection: sqlite3.Connection) -> Keys:
            return [with_last_use(*row) for row in connection.execute(_LIST, bind)]

        return await run_alone(self._reader, work)

    @override
    async def replace(self, key: ApiKey) -> bool:
        row = (stored_key(key), key.key_id, key.version - 1)
        return await run_alone(
            self._writer, lambda connection: connection.execute(_REPLACE, row).rowcount == 1, commit=True
        )

    @override
    async def delete_of_user(self, *, app: str, user: str) -> int:
        return await run_alone(
            self._writer, lambda connection: connection.execute(_DELETE_OF_USER, (app, user)).rowcount, commit=True
        )

    @override
    async def record_uses(self, uses: Mapping[str, datetime]) -> None:
        rows = [(timestamp_us(used_at), key_id) for key_id, used_at in uses.items()]
        await run_alone(
            self._writer, lambda connection: connection.executemany(_RECORD_USE, rows).rowcount, commit=True
        )
