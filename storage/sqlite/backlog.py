"""What is waiting, over all users, in SQLite: the one place whose statements may cross users."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory.ports.record import Backlog, OutboxEntry
from memory.ports.vectors import Collection
from memory.values.records import Resource

from ..shared.checks import check_user
from .engine.connections import LanePool, T, Work
from .engine.outbox import queue
from .repositories.log import resource_of

_OWNING = (
    "resources",
    "entities",
    "relations",
    "memories",
    "facts",
    "categories",
    "category_accesses",
    "edges",
    "aam_memories",
    "changes",
)
"""The tables that hold somebody's data."""


def _next_user(after: str) -> str:
    """The query for the first user greater than `after`: one look into an index of each table."""
    each = (f"SELECT min(user_id) AS user_id FROM {table} WHERE user_id > {after}" for table in _OWNING)  # noqa: S608
    return f"SELECT min(user_id) AS user_id FROM ({' UNION ALL '.join(each)})"  # noqa: S608


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
        (SELECT count(*) FROM relations),
        (SELECT count(*) FROM memories),
        (SELECT count(*) FROM facts),
        (SELECT count(*) FROM aam_memories),
        (SELECT count(*) FROM outbox)
"""
_COUNTED = ("resources", "unlearned", "entities", "relations", "memories", "facts", "aam_memories", "outbox")


class SqliteBacklog(Backlog):
    """The learner's view of the database.

    Args:
        reader: A lane of its own, so that asking for the backlog never waits for an open unit of work.
        counter: Another one, since counting reads whole tables.
        writer: The lane that units of work write in.
        path: The database file, whose size is reported.
    """

    def __init__(self, *, reader: LanePool, counter: LanePool, writer: LanePool, path: Path) -> None:
        self._reader = reader
        self._counter = counter
        self._writer = writer
        self._files = [path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")]

    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        """Entries of the raw log not yet learned, oldest first."""
        where, owner = _of(user_id)
        statement = f"SELECT sequence, body FROM resources WHERE learned = 0{where} ORDER BY sequence LIMIT ?"  # noqa: S608

        def work(connection: sqlite3.Connection) -> list[Resource]:
            return [resource_of(*row) for row in connection.execute(statement, (*owner, max(limit, 0)))]

        return await self._read(work)

    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        """Items not yet in the vector index, oldest first."""
        where, owner = _of(user_id)
        columns = "sequence, user_id, collection, item_id"
        statement = f"SELECT {columns} FROM outbox WHERE 1{where} ORDER BY sequence LIMIT ?"  # noqa: S608

        def work(connection: sqlite3.Connection) -> list[OutboxEntry]:
            return [
                OutboxEntry(sequence=sequence, user_id=user, collection=Collection(collection), item_id=item_id)
                for sequence, user, collection, item_id in connection.execute(statement, (*owner, max(limit, 0)))
            ]

        return await self._read(work)

    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        """Takes entries off the outbox; one that was saved again has another number and stays."""

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "DELETE FROM outbox WHERE sequence = ? AND user_id = ? AND collection = ? AND item_id = ?",
                ((entry.sequence, entry.user_id, entry.collection.value, entry.item_id) for entry in entries),
            )

        await self._write(work)

    async def requeue(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        """Puts items on the outbox again, whether or not they exist."""
        owner = check_user(user_id)
        await self._write(lambda connection: queue(connection, owner, collection, item_ids))

    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        """Users with any data, sorted by code point."""

        def work(connection: sqlite3.Connection) -> list[str]:
            return _users(connection, after or "", max(limit, 0))

        return await self._read(work)

    async def counts(self) -> Mapping[str, int]:
        """Totals for the metrics."""

        def work(connection: sqlite3.Connection) -> dict[str, int]:
            totals = dict(zip(_COUNTED, connection.execute(_COUNTS).fetchone(), strict=True))
            totals["users"] = len(_users(connection, "", _ALL))
            totals["size_bytes"] = sum(file.stat().st_size for file in self._files if file.exists())
            return totals

        async with self._counter.lane() as lane:
            return await lane.run(work)

    async def _read(self, work: Work[T]) -> T:
        async with self._reader.lane() as lane:
            return await lane.run(work)

    async def _write(self, work: Work[None]) -> None:
        async with self._writer.lane() as lane:
            await lane.run(work)
            await lane.commit()


def _users(connection: sqlite3.Connection, after: str, limit: int) -> list[str]:
    return [user_id for (user_id,) in connection.execute(_USERS, (after, limit))]


def _of(user_id: str | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if user_id is None else (" AND user_id = ?", (check_user(user_id),))
