"""The transaction that the repositories of one unit of work share."""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence

from more_itertools import chunked

from .connections import Lane, T, Work

_CHUNK = 500


class Transaction:
    """A lane in a transaction, bound to one user, until it is committed or closed.

    Args:
        lane: A lane that has begun.
        user_id: Whose rows every statement is filtered by.
        writable: Whether `write` is allowed.
    """

    def __init__(self, lane: Lane, *, user_id: str, writable: bool) -> None:
        self.user_id = user_id
        self._lane = lane
        self._writable = writable
        self._open = True

    async def read(self, work: Work[T]) -> T:
        """Runs a query in the transaction."""
        self._require_open()
        return await self._lane.run(work)

    async def write(self, work: Work[T]) -> T:
        """Runs a change in the transaction.

        Raises:
            RuntimeError: The unit of work was opened for reading only.
        """
        self._require_open()
        if not self._writable:
            raise RuntimeError("this unit of work was opened for reading")
        return await self._lane.run(work)

    async def count(self, statement: str, *parameters: object) -> int:
        """The one number that a query over this user's rows gives; its first parameter is the user."""

        def work(connection: sqlite3.Connection) -> int:
            return int(connection.execute(statement, (self.user_id, *parameters)).fetchone()[0])

        return await self.read(work)

    async def change(self, statement: str, *parameters: object) -> int:
        """How many of this user's rows a statement changes; its first parameter is the user."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(statement, (self.user_id, *parameters)).rowcount

        return await self.write(work)

    async def commit(self) -> None:
        """Makes the changes durable; the transaction ends."""
        self._require_open()
        self._open = False
        await self._lane.commit()

    async def rollback(self) -> None:
        """Undoes the changes; the transaction ends."""
        self._require_open()
        self._open = False
        await asyncio.wrap_future(self._lane.reset())

    def close(self) -> None:
        """Nothing runs in this transaction any more: the lane will soon be in another one."""
        self._open = False

    def _require_open(self) -> None:
        if not self._open:
            raise RuntimeError("this unit of work is over")


def after_clause(column: str, after: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition that a page begins after this id, where there is one, and its parameter."""
    return ("", ()) if after is None else (f" AND {column} > ?", (after,))


def select_by_id(
    connection: sqlite3.Connection, statement: str, user_id: str, ids: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Runs `statement`, which ends in `IN ({})`, over the ids in chunks."""
    for chunk in chunked(dict.fromkeys(ids), _CHUNK):
        yield from connection.execute(statement.format(",".join("?" * len(chunk))), (user_id, *chunk))
