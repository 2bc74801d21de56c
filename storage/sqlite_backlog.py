"""What is waiting, over all users, in SQLite: the one place whose statements may cross users."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory.ports.record import Backlog, OutboxEntry
from memory.ports.vectors import Collection
from memory.records import Resource

from .checks import check_user
from .sqlite_lanes import LanePool, T, Work
from .sqlite_log import resource_of

_COUNTS = """
    SELECT
        (SELECT count(*) FROM resources),
        (SELECT count(*) FROM resources WHERE learned = 0),
        (SELECT count(*) FROM entities),
        (SELECT count(*) FROM memories),
        (SELECT count(*) FROM outbox),
        (SELECT count(*) FROM (
            SELECT user_id FROM resources UNION SELECT user_id FROM entities UNION SELECT user_id FROM memories
        ))
"""
_COUNTED = ("resources", "unlearned", "entities", "memories", "outbox", "users")


class SqliteBacklog(Backlog):
    """The learner's view of the database.

    Args:
        reader: A lane of its own, so that asking for the backlog never waits for an open unit of work.
        writer: The lane that units of work write in.
        path: The database file, whose size is reported.
    """

    def __init__(self, reader: LanePool, writer: LanePool, path: Path) -> None:
        self._reader = reader
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
            connection.execute("COMMIT")

        async with self._writer.lane() as lane:
            await lane.run(work)

    async def counts(self) -> Mapping[str, int]:
        """Totals for the metrics."""

        def work(connection: sqlite3.Connection) -> dict[str, int]:
            totals = dict(zip(_COUNTED, connection.execute(_COUNTS).fetchone(), strict=True))
            totals["size_bytes"] = sum(file.stat().st_size for file in self._files if file.exists())
            return totals

        return await self._read(work)

    async def _read(self, work: Work[T]) -> T:
        async with self._reader.lane() as lane:
            return await lane.run(work)


def _of(user_id: str | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if user_id is None else (" AND user_id = ?", (check_user(user_id),))
