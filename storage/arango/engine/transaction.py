"""An ArangoDB stream transaction of one user, which the repositories of a unit of work share."""

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

import structlog
from arango.database import StandardDatabase, TransactionDatabase
from arango.exceptions import ArangoServerError

from memory.values.errors import StoreUnavailable

from . import queries as aql
from .client import ArangoServer, rows_of
from .errors import CONFLICT, TRANSACTION_OVER, UNIQUE_CONSTRAINT_VIOLATED, WriteConflict, unavailable
from .keys import ascii_of, key_of, order_of
from .schema import COLLECTIONS

T = TypeVar("T")

_RESERVED = 1000
"""Sequence numbers that a writer reserves when it takes the lock on the user's document."""
_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.2
_log = structlog.get_logger(__name__)


class Query(Protocol):
    """Runs one statement in the transaction; `@user` is given already."""

    def __call__(self, statement: str, **bind: Any) -> list[Any]:
        """Runs the statement and returns all its rows."""


class ArangoTransaction:
    """A stream transaction bound to one user, until it is committed or closed.

    A reader sees a snapshot. A user has one writer at a time: within a process through `write_lock`, between processes
    because each writer first changes the user's document, so that the others get a conflict and try again.

    Args:
        server: The ArangoDB server.
        user_id: The user to whose documents every statement is limited.
        write_lock: Lock of this user's writers in this process; None for readers.
    """

    def __init__(self, server: ArangoServer, *, user_id: str, write_lock: asyncio.Lock | None) -> None:
        self.user_id = user_id
        self._server = server
        self._owner = ascii_of(user_id)
        self._write_lock = write_lock
        self._holds_write_lock = False
        self._call_lock = asyncio.Lock()
        self._running: Future[Any] | None = None
        self._transaction: TransactionDatabase | None = None
        self._numbers: Iterator[int] = iter(())
        self._wrote = False
        self._broken = False
        self._over = False

    async def begin(self) -> None:
        """Opens the transaction; a writer waits for the writers before it.

        Raises:
            StoreUnavailable: Other writers did not end before the deadline, or the server cannot answer.
        """
        if self._write_lock is None:
            await self._call(lambda database: self._open(database, read=COLLECTIONS))
            return
        deadline_s = self._server.settings.deadline_s
        busy = f"others have been writing for this user for {deadline_s:g} s"
        try:
            async with asyncio.timeout(deadline_s):
                await self._write_lock.acquire()
        except TimeoutError:
            raise unavailable(busy) from None
        self._holds_write_lock = True
        give_up = time.monotonic() + deadline_s
        pause_s = _FIRST_PAUSE_S
        while not await self._call(self._open_locked):
            if time.monotonic() > give_up:
                raise unavailable(busy)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def read(self, work: Callable[[Query], T]) -> T:
        """Runs queries in the transaction, in a thread."""
        self._require_open()
        return await self._call(lambda _: work(self._query))

    async def write(self, work: Callable[[Query], T]) -> T:
        """Runs changes in the transaction, in a thread.

        Raises:
            RuntimeError: The unit of work was opened for reading only.
        """
        self._require_open()
        if self._write_lock is None:
            raise RuntimeError("this unit of work was opened for reading")
        self._wrote = True
        return await self._call(lambda _: work(self._query))

    def next_sequence(self, query: Query) -> int:
        """The next sequence number of the user's log and outbox: greater than all before it, and close to the time in
        microseconds, so that the numbers of different users follow the time, too.
        """
        number = next(self._numbers, None)
        if number is None:
            self._reserve(query)
            number = next(self._numbers)
        return number

    async def commit(self) -> None:
        """Makes the changes durable; the transaction ends.

        Raises:
            StoreUnavailable: The changes are not written, or it is unknown whether they are; repeating is harmless.
        """
        self._require_open()
        if self._broken:
            raise unavailable("a statement of this unit of work failed, so it cannot be committed")
        self._over = True
        if not self._wrote:
            return
        try:
            await self._call(self._commit)
        except StoreUnavailable as error:
            raise StoreUnavailable(
                f"It is not known whether the unit of work is written. {error.message}", component="record"
            ) from error

    async def rollback(self) -> None:
        """Undoes the changes; the transaction ends.

        Raises:
            StoreUnavailable: ArangoDB cannot be reached; it aborts the transaction after a minute without use.
        """
        self._require_open()
        self._over = True
        await self._call(self._abort)

    async def close(self) -> None:
        """Undoes what is not committed and releases the write lock; to be awaited to its end."""
        self._over = True
        try:
            async with self._call_lock:
                await self._wait_for_running()
            if self._transaction is not None:
                await self._server.call(self._abort)
        except (StoreUnavailable, WriteConflict) as error:
            # ArangoDB aborts the transaction itself after a minute without use.
            _log.warning("record_rollback_failed", error=str(error))
        finally:
            if self._write_lock is not None and self._holds_write_lock:
                self._write_lock.release()

    def _require_open(self) -> None:
        if self._over:
            raise RuntimeError("this unit of work is over")

    async def _call(self, work: Callable[[StandardDatabase], T]) -> T:
        """Runs one call at a time, also after a caller that was cancelled."""
        async with self._call_lock:
            await self._wait_for_running()
            try:
                return await self._server.call(work, self._started)
            except WriteConflict as error:
                self._broken = True
                raise unavailable(f"another transaction wrote the same at the same time: {error}") from error
            except (StoreUnavailable, asyncio.CancelledError):
                self._broken = True
                raise

    def _started(self, future: "Future[Any]") -> None:
        self._running = future

    async def _wait_for_running(self) -> None:
        if self._running is not None:
            done, _ = await asyncio.wait([asyncio.wrap_future(self._running)])
            for future in done:
                # Its caller has seen the error, or was cancelled.
                _ = future.cancelled() or future.exception()

    # The methods below run in a thread.

    def _query(self, statement: str, **bind: Any) -> list[Any]:
        if self._transaction is None or self._over:
            raise unavailable("the transaction is not open")
        variables = {"user": self._owner} | {
            f"@{name}" if name == "collection" else name: value for name, value in bind.items()
        }
        return rows_of(self._transaction, statement, variables, deadline_s=self._server.settings.deadline_s)

    def _open(
        self, database: StandardDatabase, *, read: Sequence[str] | None = None, write: Sequence[str] | None = None
    ) -> None:
        settings = self._server.settings
        self._transaction = database.begin_transaction(
            read=read,
            write=write,
            sync=settings.durable,
            allow_implicit=False,
            lock_timeout=math.ceil(settings.deadline_s),
        )

    def _open_locked(self, database: StandardDatabase) -> bool:
        """Opens a transaction that holds the user's lock; returns False, with nothing open, on a conflict."""
        self._open(database, write=COLLECTIONS)
        try:
            self._reserve(self._query)
        except ArangoServerError as error:
            self._abort(database)
            if error.error_code in (CONFLICT, UNIQUE_CONSTRAINT_VIOLATED):
                return False
            raise
        return True

    def _reserve(self, query: Query) -> None:
        (last,) = query(
            aql.LOCK,
            key=key_of(self.user_id),
            order=order_of(self.user_id),
            now=time.time_ns() // 1000,
            reserved=_RESERVED,
        )
        self._numbers = iter(range(int(last) - _RESERVED + 1, int(last) + 1))

    def _commit(self, _: StandardDatabase) -> None:
        if self._transaction is not None:
            self._transaction.commit_transaction()
            self._transaction = None

    def _abort(self, _: StandardDatabase) -> None:
        transaction, self._transaction = self._transaction, None
        if transaction is None:
            return
        try:
            transaction.abort_transaction()
        except ArangoServerError as error:
            # A commit whose answer was lost, or a transaction that timed out: nothing is left to undo.
            if error.error_code not in TRANSACTION_OVER:
                raise
