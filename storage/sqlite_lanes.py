"""Threads and connections of the embedded system of record: one lane that writes, a few that read.

A lane is one connection in one thread of its own, so all that is given to it happens in order. What is left behind
by a cancelled task is therefore undone before the next unit of work begins, whoever waits for it or not.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import structlog

from memory.errors import StoreUnavailable

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_KEPT_LOG_BYTES = 64 * 2**20
_log = structlog.get_logger(__name__)
_OURS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.NotSupportedError)


def unavailable(reason: object) -> StoreUnavailable:
    """The error that says why the system of record cannot answer."""
    return StoreUnavailable(f"The system of record cannot answer: {reason}.", component="record")


class Lane:
    """One connection in one thread.

    Args:
        path: The database file, already migrated.
        begin: The statement that opens a transaction.
        pragmas: What every connection of this lane is set to.
        busy_timeout_s: How long a statement waits for other processes.
    """

    def __init__(self, path: Path, *, begin: str, pragmas: tuple[str, ...], busy_timeout_s: float) -> None:
        self._path = path
        self._begin = begin
        self._pragmas = pragmas
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")

    async def run(self, work: Work[T]) -> T:
        """Runs `work` with the connection, in the lane's thread.

        Raises:
            StoreUnavailable: SQLite cannot do it: locked, full, read-only, corrupt, gone.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, work)

    async def begin(self) -> None:
        """Opens a transaction; a reader sees the data as they are now until it is reset."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._begin)
            connection.execute("SELECT 1 FROM migrations LIMIT 1").fetchone()

        await self.run(work)

    def reset(self) -> "Future[None]":
        """Undoes an open transaction after all that was given to the lane before; need not be awaited."""
        return self._thread.submit(self._reset)

    async def close(self) -> None:
        """Closes the connection and ends the thread."""
        await asyncio.wrap_future(self._thread.submit(self._disconnect))
        self._thread.shutdown(wait=False)

    def _call(self, work: Work[T]) -> T:
        try:
            if self._connection is None:
                self._connection = self._connect()
            return work(self._connection)
        except _OURS:
            raise
        except sqlite3.Error as error:
            raise unavailable(error) from error

    def _connect(self) -> sqlite3.Connection:
        # Mode rw: a file that has vanished is an error, never a new and empty memory.
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw", uri=True, timeout=self._busy_timeout_s, isolation_level=None
        )
        for pragma in self._pragmas:
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _reset(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                _log.warning("record_rollback_failed", error=str(error))
                self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class LanePool:
    """Hands out lanes in the order of asking.

    Args:
        path: The database file, already migrated.
        lanes: How many units of work may be open at once.
        deadline_s: How long a unit of work waits for its turn, and then for other processes.
        begin: The statement that opens a transaction.
        pragmas: What every connection is set to.
    """

    def __init__(self, path: Path, *, lanes: int, deadline_s: float, begin: str, pragmas: tuple[str, ...]) -> None:
        pragmas = ("temp_store = MEMORY", "trusted_schema = OFF", *pragmas)
        self._lanes = [Lane(path, begin=begin, pragmas=pragmas, busy_timeout_s=deadline_s) for _ in range(lanes)]
        self._idle = list(self._lanes)
        self._deadline_s = deadline_s
        self._turns = asyncio.Semaphore(lanes)
        self._closed = False

    @asynccontextmanager
    async def lane(self) -> AsyncIterator[Lane]:
        """A lane in a transaction; leaving without COMMIT undoes it.

        Raises:
            StoreUnavailable: None came free before the deadline, or SQLite refuses.
        """
        await self._wait()
        lane = self._idle.pop()
        try:
            await lane.begin()
            yield lane
        finally:
            undone = lane.reset()
            self._idle.append(lane)
            self._turns.release()
            # Other processes may count on it once the block is left; a cancelled wait changes nothing.
            await asyncio.shield(asyncio.wrap_future(undone))

    async def close(self) -> None:
        """Lets open units of work finish (until the deadline) and closes every lane."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(self._deadline_s):
                for _ in self._lanes:
                    await self._turns.acquire()
        except TimeoutError:
            _log.warning("record_closed_with_open_units")
        for lane in self._lanes:
            await lane.close()

    async def _wait(self) -> None:
        self._require_open()
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._turns.acquire()
        except TimeoutError:
            raise unavailable(f"it was busy for {self._deadline_s:g} s") from None
        try:
            self._require_open()
        except StoreUnavailable:
            self._turns.release()
            raise

    def _require_open(self) -> None:
        if self._closed:
            raise unavailable("it is closed")


def reader_pool(path: Path, *, lanes: int, deadline_s: float) -> LanePool:
    """Lanes that only read, each with a view of the data as they were when it began."""
    return LanePool(path, lanes=lanes, deadline_s=deadline_s, begin="BEGIN", pragmas=("query_only = ON",))


def writer_pool(path: Path, *, durable: bool, deadline_s: float) -> LanePool:
    """The one lane that writes; `durable` commits wait for the disk (`synchronous=FULL`)."""
    pragmas = (f"synchronous = {'FULL' if durable else 'NORMAL'}", f"journal_size_limit = {_KEPT_LOG_BYTES}")
    return LanePool(path, lanes=1, deadline_s=deadline_s, begin="BEGIN IMMEDIATE", pragmas=pragmas)
