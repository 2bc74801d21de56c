"""The raw log in SQLite."""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import RawLog, Resources, Strings
from memory.values.records import Resource, ResourceKind

from ...shared.checks import check_aware, check_owner
from ...shared.stored_values import timestamp_us
from ..engine.transaction import SqliteRepository

_LAST_SEQUENCE = 2**63 - 1
_APPEND = """
    INSERT INTO resources (user_id, resource_id, session_id, learned, kind, created_us, body, understanding)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (user_id, resource_id) DO NOTHING
"""
COLUMNS = "sequence, body, understanding"
"""The columns that `resource_of` reads."""
_PAGE = f"SELECT {COLUMNS} FROM resources WHERE user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"  # noqa: S608
_UNEXTRACTED = f"""
    SELECT {COLUMNS} FROM resources WHERE user_id = ? AND learned = 0 AND sequence > ? ORDER BY sequence LIMIT ?
"""  # noqa: S608
_DELETE_ORPHANED = """
    DELETE FROM resources WHERE user_id = ? AND learned = 1 AND created_us < ?
    AND NOT EXISTS (
        SELECT 1 FROM memories
        WHERE memories.user_id = resources.user_id AND memories.resource_id = resources.resource_id
    )
    AND NOT EXISTS (
        SELECT 1 FROM facts WHERE facts.user_id = resources.user_id AND facts.resource_id = resources.resource_id
    )
"""


def resource_of(sequence: int, body: str, understanding: str | None) -> Resource:
    """The entry that a row of `resources` holds."""
    fields = json.loads(body) | {"sequence": sequence}
    return Resource.model_validate(fields | ({"understanding": json.loads(understanding)} if understanding else {}))


def texts_of(resource: Resource) -> tuple[str, str | None]:
    """The body and the understanding of an entry as a row has them."""
    understanding = resource.understanding.model_dump_json() if resource.understanding else None
    return resource.model_dump_json(exclude={"sequence", "understanding"}), understanding


class SqliteLog(SqliteRepository, RawLog):
    """The raw log of one user; `sequence` is the row number of the whole table."""

    @override
    async def append(self, resources: Sequence[Resource]) -> None:
        check_owner(resources, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                _APPEND,
                (
                    (
                        resource.user_id,
                        resource.resource_id,
                        resource.session_id,
                        not resource.learn,
                        resource.kind.value,
                        timestamp_us(resource.created_at),
                        *texts_of(resource),
                    )
                    for resource in resources
                ),
            )

        await self._transaction.write(work)

    @override
    async def get(self, resource_ids: Sequence[str]) -> Resources:
        def work(connection: sqlite3.Connection) -> Resources:
            statement = f"SELECT resource_id, {COLUMNS} FROM resources WHERE user_id = ? AND resource_id IN ({{}})"  # noqa: S608
            rows = self._select(connection, statement, resource_ids)
            found = {resource_id: resource_of(int(sequence), *texts) for resource_id, sequence, *texts in rows}
            return [found[resource_id] for resource_id in resource_ids if resource_id in found]

        return await self._transaction.read(work)

    @override
    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> Resources:
        last = _LAST_SEQUENCE if before is None else before - 1

        def work(connection: sqlite3.Connection) -> Resources:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM resources WHERE user_id = ? AND session_id = ? AND sequence <= ?"  # noqa: S608
                " ORDER BY sequence DESC LIMIT ?",
                (self._user_id, session_id, last, max(limit, 0)),
            ).fetchall()
            return [resource_of(*row) for row in reversed(rows)]

        return await self._transaction.read(work)

    @override
    async def list(
        self, *, kind: ResourceKind | None = None, since: datetime | None = None, limit: int = 100
    ) -> Resources:
        conditions: dict[str, object] = {}
        if kind is not None:
            conditions[" AND kind = ?"] = kind.value
        if since is not None:
            conditions[" AND created_us >= ?"] = timestamp_us(check_aware(since, "since"))
        parameters = (self._user_id, *conditions.values(), max(limit, 0))
        where = "".join(conditions)
        statement = f"SELECT {COLUMNS} FROM resources WHERE user_id = ?{where} ORDER BY sequence DESC LIMIT ?"  # noqa: S608

        def work(connection: sqlite3.Connection) -> Resources:
            return [resource_of(*row) for row in connection.execute(statement, parameters)]

        return await self._transaction.read(work)

    @override
    async def count(self) -> int:
        return await self._count("SELECT count(*) FROM resources WHERE user_id = ?")

    @override
    async def page(self, *, after: int | None = None, limit: int) -> Resources:
        return await self._in_order(_PAGE, after, limit)

    @override
    async def list_unextracted(self, *, after: int | None = None, limit: int = 100) -> Resources:
        return await self._in_order(_UNEXTRACTED, after, limit)

    @override
    async def mark_learned(self, resource_ids: Sequence[str]) -> Strings:
        statement = "UPDATE resources SET learned = 1 WHERE user_id = ? AND resource_id = ? AND learned = 0"

        def work(connection: sqlite3.Connection) -> Strings:
            return [
                resource_id
                for resource_id in resource_ids
                if connection.execute(statement, (self._user_id, resource_id)).rowcount
            ]

        return await self._transaction.write(work)

    @override
    async def delete_orphaned(self, *, created_before: datetime) -> int:
        before = timestamp_us(check_aware(created_before, "created_before"))
        return await self._change(_DELETE_ORPHANED, before)

    async def _in_order(self, statement: str, after: int | None, limit: int) -> Resources:
        parameters = (self._user_id, after or 0, max(limit, 0))

        def work(connection: sqlite3.Connection) -> Resources:
            return [resource_of(*row) for row in connection.execute(statement, parameters)]

        return await self._transaction.read(work)
