"""The backlog of background work, over all users, in SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from memory.ports.stores.record import Backlog, FactTotal, OutboxEntry
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import SourceVersion
from memory.values.facts import FactStatus
from memory.values.records import Resource

from ..shared.checks import check_user
from ..shared.owners import count_users
from .engine.connections import ConnectionPool, run_alone
from .engine.erasing import OWNING_TABLES
from .engine.transaction import enqueue
from .repositories.log import COLUMNS, resource_of


def _next_user(after: str) -> str:
    """The query for the first user greater than `after`: one index lookup in each table."""
    minima = (f"SELECT min(user_id) AS user_id FROM {table} WHERE user_id > {after}" for table in OWNING_TABLES)  # noqa: S608
    return f"SELECT min(user_id) AS user_id FROM ({' UNION ALL '.join(minima)})"  # noqa: S608


_USERS = f"""
    WITH RECURSIVE found (user_id) AS (
        {_next_user("?1")}
        UNION ALL
        SELECT ({_next_user("found.user_id")}) FROM found WHERE found.user_id IS NOT NULL
        LIMIT ?2
    )
    SELECT user_id FROM found WHERE user_id IS NOT NULL
"""  # noqa: S608
_ALL = -1
_COUNTS = """
    SELECT
        (SELECT count(*) FROM resources),
        (SELECT count(*) FROM resources WHERE learned = 0),
        (SELECT count(*) FROM entities),
        (
            SELECT count(*) FROM entities
            WHERE json_extract(body, '$.mention_count') = 0 AND json_extract(body, '$.source') = 'system'
        ),
        (SELECT count(*) FROM relations),
        (SELECT count(*) FROM memories),
        (SELECT count(*) FROM facts),
        (SELECT count(*) FROM corpora),
        (SELECT count(*) FROM knowledge),
        (SELECT count(*) FROM outbox)
"""
_FACT_TOTALS = "SELECT status, category, count(*), avg(confidence) FROM facts GROUP BY status, category"
_COUNTED = (
    "resources",
    "unlearned",
    "entities",
    "preloaded",
    "relations",
    "memories",
    "facts",
    "corpora",
    "knowledge",
    "outbox",
)

_OWNERS = "SELECT user_id FROM memories WHERE memory_id = ? ORDER BY user_id"
_PENDING_SOURCES = "SELECT body FROM source_versions WHERE state = 'pending'"


class SqliteBacklog(Backlog):
    """The learner's view of the database; the only statements that cross users are here.

    Args:
        reader: A connection of its own, so that reading the backlog never waits for an open unit of work.
        counter: Another one, since counting reads whole tables.
        writer: The connection that units of work write with.
        path: The database file, whose size is reported.
    """

    def __init__(self, *, reader: ConnectionPool, counter: ConnectionPool, writer: ConnectionPool, path: Path) -> None:
        self._reader = reader
        self._counter = counter
        self._writer = writer
        self._files = [path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")]

    @override
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        where, owner = _user_clause(user_id)
        statement = f"SELECT {COLUMNS} FROM resources WHERE learned = 0{where} ORDER BY sequence LIMIT ?"  # noqa: S608

        def work(connection: sqlite3.Connection) -> list[Resource]:
            return [resource_of(*row) for row in connection.execute(statement, (*owner, max(limit, 0)))]

        return await run_alone(self._reader, work)

    @override
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        where, owner = _user_clause(user_id)
        columns = "sequence, user_id, collection, item_id"
        statement = f"SELECT {columns} FROM outbox WHERE 1{where} ORDER BY sequence LIMIT ?"  # noqa: S608

        def work(connection: sqlite3.Connection) -> list[OutboxEntry]:
            return [
                OutboxEntry(sequence=sequence, user_id=user, collection=Collection(collection), item_id=item_id)
                for sequence, user, collection, item_id in connection.execute(statement, (*owner, max(limit, 0)))
            ]

        return await run_alone(self._reader, work)

    @override
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "DELETE FROM outbox WHERE sequence = ? AND user_id = ? AND collection = ? AND item_id = ?",
                ((entry.sequence, entry.user_id, entry.collection.value, entry.item_id) for entry in entries),
            )

        await run_alone(self._writer, work, commit=True)

    @override
    async def requeue(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        owner = check_user(user_id)
        await run_alone(self._writer, lambda connection: enqueue(connection, owner, collection, item_ids), commit=True)

    @override
    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            return _users(connection, after or "", max(limit, 0))

        return await run_alone(self._reader, work)

    @override
    async def owners(self, memory_id: str) -> list[str]:
        def work(connection: sqlite3.Connection) -> list[str]:
            return [user_id for (user_id,) in connection.execute(_OWNERS, (memory_id,))]

        return await run_alone(self._reader, work)

    @override
    async def pending_sources(self, *, limit: int) -> list[SourceVersion]:
        def work(connection: sqlite3.Connection) -> list[SourceVersion]:
            return [SourceVersion.model_validate_json(body) for (body,) in connection.execute(_PENDING_SOURCES)]

        return sorted(await run_alone(self._reader, work), key=lambda version: version.place)[: max(limit, 0)]

    @override
    async def counts(self) -> Mapping[str, int]:
        def work(connection: sqlite3.Connection) -> dict[str, int]:
            totals = dict(zip(_COUNTED, connection.execute(_COUNTS).fetchone(), strict=True))
            totals["users"] = count_users(_users(connection, "", _ALL))
            totals["size_bytes"] = sum(file.stat().st_size for file in self._files if file.exists())
            return totals

        return await run_alone(self._counter, work)

    @override
    async def fact_totals(self) -> list[FactTotal]:
        def work(connection: sqlite3.Connection) -> list[FactTotal]:
            return [FactTotal(FactStatus(status), *rest) for status, *rest in connection.execute(_FACT_TOTALS)]

        return await run_alone(self._counter, work)


def _users(connection: sqlite3.Connection, after: str, limit: int) -> list[str]:
    return [user_id for (user_id,) in connection.execute(_USERS, (after, limit))]


def _user_clause(user_id: str | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if user_id is None else (" AND user_id = ?", (check_user(user_id),))
