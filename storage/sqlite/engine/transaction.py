"""The transaction that the repositories of one unit of work share, and what each of them does with it."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from more_itertools import chunked

from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.base import Value

from ...shared.stored_values import AccessedT, with_access
from .connections import Connection, T, Work

ValueT = TypeVar("ValueT", bound=Value)

_IDS_PER_STATEMENT = 500
_ENQUEUE = "INSERT OR REPLACE INTO outbox (user_id, collection, item_id) VALUES (?, ?, ?)"


class Transaction:
    """A connection in a transaction, bound to one user, until it is committed or closed.

    Args:
        connection: A connection that has begun a transaction.
        user_id: The user that every statement filters by.
        writable: Whether `write` is allowed.
    """

    def __init__(self, connection: Connection, *, user_id: str, writable: bool) -> None:
        self.user_id = user_id
        self._connection = connection
        self._writable = writable
        self._open = True

    async def read(self, work: Work[T]) -> T:
        """Runs a query in the transaction."""
        self._require_open()
        return await self._connection.run(work)

    async def write(self, work: Work[T]) -> T:
        """Runs a change in the transaction.

        Raises:
            RuntimeError: The unit of work was opened for reading only.
        """
        self._require_open()
        if not self._writable:
            raise RuntimeError("this unit of work was opened for reading")
        return await self._connection.run(work)

    async def commit(self) -> None:
        """Makes the changes durable; the transaction ends."""
        self._require_open()
        self._open = False
        await self._connection.commit()

    async def rollback(self) -> None:
        """Undoes the changes; the transaction ends."""
        self._require_open()
        self._open = False
        await asyncio.wrap_future(self._connection.roll_back())

    def close(self) -> None:
        """Refuses further statements: the connection will soon be in another transaction."""
        self._open = False

    def _require_open(self) -> None:
        if not self._open:
            raise RuntimeError("this unit of work is over")


class SqliteRepository:
    """A repository of one user; the first parameter of every statement is the user.

    Args:
        transaction: Where its statements run.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    async def _rows(self, statement: str, *parameters: object) -> list[Any]:
        """Runs a query and returns all its rows."""

        def work(connection: sqlite3.Connection) -> list[Any]:
            return connection.execute(statement, (self._user_id, *parameters)).fetchall()

        return await self._transaction.read(work)

    async def _values(self, kind: type[ValueT], statement: str, *parameters: object) -> list[ValueT]:
        """The values of a query that selects `body`."""

        def work(connection: sqlite3.Connection) -> list[ValueT]:
            rows = connection.execute(statement, (self._user_id, *parameters))
            return [kind.model_validate_json(body) for (body,) in rows]

        return await self._transaction.read(work)

    async def _count(self, statement: str, *parameters: object) -> int:
        """The number that a query selects."""
        return int((await self._rows(statement, *parameters))[0][0])

    async def _change(self, statement: str, *parameters: object) -> int:
        """Runs a statement and returns the number of rows that it changed."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(statement, (self._user_id, *parameters)).rowcount

        return await self._transaction.write(work)

    def _select(self, connection: sqlite3.Connection, statement: str, ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query that ends in `IN ({})`, for any number of ids."""
        for chunk in chunked(dict.fromkeys(ids), _IDS_PER_STATEMENT):
            yield from connection.execute(statement.format(",".join("?" * len(chunk))), (self._user_id, *chunk))

    def _select_values(
        self, connection: sqlite3.Connection, kind: type[ValueT], statement: str, ids: Sequence[str]
    ) -> list[ValueT]:
        """The values that exist, in the order of the ids; the query selects the id and `body`."""
        bodies = dict(self._select(connection, statement, ids))
        return [kind.model_validate_json(bodies[id_]) for id_ in ids if id_ in bodies]

    async def _delete(self, statement: str, ids: Sequence[str], collection: Collection) -> int:
        """Deletes rows by id, puts those that existed on the outbox, and returns how many they were."""

        def work(connection: sqlite3.Connection) -> int:
            deleted = [id_ for id_ in ids if connection.execute(statement, (self._user_id, id_)).rowcount]
            enqueue(connection, self._user_id, collection, deleted)
            return len(deleted)

        return await self._transaction.write(work)

    async def _count_accesses(
        self, kind: type[AccessedT], select: str, update: str, accesses: Sequence[Access]
    ) -> None:
        """Adds accesses to the values that exist; `update` sets `body` of a user's id."""

        def work(connection: sqlite3.Connection) -> None:
            for access in accesses:
                for value in self._select_values(connection, kind, select, [access.item_id]):
                    body = with_access(value, access).model_dump_json()
                    connection.execute(update, (body, self._user_id, access.item_id))

        await self._transaction.write(work)


def enqueue(connection: sqlite3.Connection, user_id: str, collection: Collection, item_ids: Iterable[str]) -> None:
    """Puts items on the outbox of the vector index; an item that is on it already gets a new number."""
    connection.executemany(_ENQUEUE, ((user_id, collection.value, item_id) for item_id in item_ids))


def after_clause(column: str, after: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition that a page begins after this id, where there is one, and its parameter."""
    return ("", ()) if after is None else (f" AND {column} > ?", (after,))


def behind_clause(table: str, time: str, column: str, user_id: str, after: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition that a page in the order of a time begins behind the row with this id, and its parameters."""
    place = f"SELECT {time}, rowid FROM {table} WHERE user_id = ? AND {column} = ?"  # noqa: S608 - our own names
    return ("", ()) if after is None else (f" AND ({time}, rowid) > ({place})", (user_id, after))
