"""The transaction that the repositories of one unit of work share."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from .sqlite_lanes import Lane, T, Work

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
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

    async def commit(self) -> None:
        """Makes the changes durable; the transaction ends."""
        self._require_open()
        self._open = False
        await self._lane.run(_commit)

    def close(self) -> None:
        """Nothing runs in this transaction any more: the lane will soon be in another one."""
        self._open = False

    def _require_open(self) -> None:
        if not self._open:
            raise RuntimeError("this unit of work is over")


def _commit(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


def microseconds(moment: datetime) -> int:
    """Whole microseconds since the epoch: exact, and ordered as moments are, whatever their zones."""
    return (moment - _EPOCH) // _MICROSECOND


def select_by_id(
    connection: sqlite3.Connection, statement: str, user_id: str, ids: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Runs `statement`, which ends in `IN ({})`, over the ids in chunks."""
    distinct = list(dict.fromkeys(ids))
    for start in range(0, len(distinct), _CHUNK):
        chunk = distinct[start : start + _CHUNK]
        yield from connection.execute(statement.format(",".join("?" * len(chunk))), (user_id, *chunk))
