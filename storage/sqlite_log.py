"""The raw log in SQLite."""

import sqlite3
from collections.abc import Sequence

from memory.ports.record import RawLog
from memory.records import Resource

from .checks import check_owner
from .sqlite_transaction import Transaction, select_by_id

_LAST_SEQUENCE = 2**63 - 1


def resource_of(sequence: int, body: str) -> Resource:
    """The entry that a row of `resources` holds."""
    return Resource.model_validate_json(body).model_copy(update={"sequence": sequence})


class SqliteLog(RawLog):
    """The raw log of one user; `sequence` is the row number of the whole table."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    async def append(self, resources: Sequence[Resource]) -> None:
        """Appends in order; an id that is there already is skipped."""
        check_owner(resources, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO resources (user_id, resource_id, session_id, learned, body) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (user_id, resource_id) DO NOTHING",
                (
                    (
                        resource.user_id,
                        resource.resource_id,
                        resource.session_id,
                        not resource.learn,
                        resource.model_dump_json(exclude={"sequence"}),
                    )
                    for resource in resources
                ),
            )

        await self._transaction.write(work)

    async def get(self, resource_ids: Sequence[str]) -> list[Resource]:
        """The entries that exist, in the order of the ids."""

        def work(connection: sqlite3.Connection) -> list[Resource]:
            statement = "SELECT resource_id, sequence, body FROM resources WHERE user_id = ? AND resource_id IN ({})"
            rows = select_by_id(connection, statement, self._user_id, resource_ids)
            found = {resource_id: resource_of(int(sequence), body) for resource_id, sequence, body in rows}
            return [found[resource_id] for resource_id in resource_ids if resource_id in found]

        return await self._transaction.read(work)

    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> list[Resource]:
        """The latest `limit` entries of a session, oldest first."""
        last = _LAST_SEQUENCE if before is None else before - 1

        def work(connection: sqlite3.Connection) -> list[Resource]:
            rows = connection.execute(
                "SELECT sequence, body FROM resources WHERE user_id = ? AND session_id = ? AND sequence <= ?"
                " ORDER BY sequence DESC LIMIT ?",
                (self._user_id, session_id, last, max(limit, 0)),
            ).fetchall()
            return [resource_of(*row) for row in reversed(rows)]

        return await self._transaction.read(work)

    async def mark_learned(self, resource_ids: Sequence[str]) -> list[str]:
        """Takes entries off the learner's backlog and returns those that were still on it."""
        statement = "UPDATE resources SET learned = 1 WHERE user_id = ? AND resource_id = ? AND learned = 0"

        def work(connection: sqlite3.Connection) -> list[str]:
            return [
                resource_id
                for resource_id in resource_ids
                if connection.execute(statement, (self._user_id, resource_id)).rowcount
            ]

        return await self._transaction.write(work)
