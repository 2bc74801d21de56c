"""Threads and connections of the embedded system of record: one lane that writes, a few that read.

A lane is one connection in one thread of its own, so all that is given to it happens in order. What is left behind
by a cancelled task is therefore undone before the next unit of work begins, whoever waits for it or not.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import structlog

from memory.values.errors import StoreUnavailable

from .health import Health, error_code, explain, unavailable

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_KEPT_LOG_BYTES = 64 * 2**20
_CHECKPOINT_PAGES = 8_000
_CACHE_KIB = 65_536
_log = structlog.get_logger(__name__)
_OURS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.NotSupportedError)
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
"""What says nothing against the connection."""


class Lane:
    """One connection in one thread.

    Once a connection was refused anything, or its file is no longer the one at `path`, it is given up: the next unit of
    work begins with a new one. So whatever becomes of the file or the disk, work goes on once it is well again.

    Args:
        path: The database file, already migrated.
        siblings: All lanes to this file in this process; this one adds itself. They give up their connections together,
            since SQLite shares among them how it once opened the file, such as for reading only.
        health: Where failures are counted.
        begin: The statement that opens a transaction.
        pragmas: What every connection of this lane is set to.
        busy_timeout_s: How long a statement waits for other processes.
    """

    def __init__(
        self,
        path: Path,
        *,
        siblings: "list[Lane]",
        health: Health,
        begin: str,
        pragmas: tuple[str, ...],
        busy_timeout_s: float,
    ) -> None:
        self.well = False
        siblings.append(self)
        self._path = path
        self._siblings = siblings
        self._health = health
        self._begin = begin
        self._pragmas = pragmas
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._suspect = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")

    async def run(self, work: Work[T]) -> T:
        """Runs `work` with the connection, in the lane's thread.

        Raises:
            StoreUnavailable: SQLite cannot do it: locked, full, read-only, corrupt, gone.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, work)
        except StoreUnavailable as error:
            self.well = False
            self._health.failed(error.message)
            raise

    async def begin(self) -> None:
        """Opens a transaction; a reader sees the data as they are now until it is reset.

        Raises:
            StoreUnavailable: The file is gone, locked, or may not be written by one who wants to.
        """

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(self._begin)
            connection.execute("SELECT 1 FROM migrations LIMIT 1").fetchone()

        self.well = False
        self._thread.submit(self._leave_moved_file)
        await self.run(work)
        self.well = True

    async def commit(self) -> None:
        """Makes the changes durable; the transaction ends."""
        await self.run(_commit)
        self._health.succeeded()

    def reset(self) -> "Future[None]":
        """Undoes an open transaction after all that was given to the lane before; need not be awaited."""
        return self._thread.submit(self._reset)

    def give_up(self) -> None:
        """Has the connection closed when no transaction is open in it."""
        self._suspect = True
        with contextlib.suppress(RuntimeError):  # a closed lane has none
            self._thread.submit(self._give_up_idle)

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
            if error_code(error) not in _PASSING:
                for lane in self._siblings:
                    lane.give_up()
            raise unavailable(explain(error)) from error

    def _connect(self) -> sqlite3.Connection:
        # Mode rw: a file that has vanished is an error, never a new and empty memory.
        self._file = self._file_at_path()
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw", uri=True, timeout=self._busy_timeout_s, isolation_level=None
        )
        try:
            for pragma in self._pragmas:
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _reset(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                _log.warning("record_rollback_failed", error=str(error))
                self._suspect = True
        if self._suspect:
            self._disconnect()

    def _give_up_idle(self) -> None:
        if self._suspect and not (self._connection is not None and self._connection.in_transaction):
            self._disconnect()

    def _leave_moved_file(self) -> None:
        # SQLite itself goes on writing to a file that was removed or replaced, where nobody would ever find it.
        if self._connection is not None and self._file_at_path() != self._file:
            _log.warning("record_file_moved", path=str(self._path))
            self._disconnect()

    def _file_at_path(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._suspect = False
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error as error:
                _log.warning("record_close_failed", error=str(error))


def _commit(connection: sqlite3.Connection) -> None:
    connection.execute("COMMIT")


class LanePool:
    """Hands out lanes in the order of asking.

    Args:
        path: The database file, already migrated.
        siblings: The lanes of all pools to this file.
        lanes: How many units of work may be open at once.
        deadline_s: How long a unit of work waits for its turn, and then for other processes.
        begin: The statement that opens a transaction.
        pragmas: What every connection is set to.
        reads: Whether these lanes only read, so that a unit of work is well when it ends, not when it is committed.
    """

    def __init__(
        self,
        path: Path,
        *,
        siblings: list[Lane],
        lanes: int,
        deadline_s: float,
        begin: str,
        pragmas: tuple[str, ...],
        reads: bool,
    ) -> None:
        self.health = Health()
        self._lanes = [
            Lane(
                path,
                siblings=siblings,
                health=self.health,
                begin=begin,
                pragmas=("temp_store = MEMORY", "trusted_schema = OFF", *pragmas),
                busy_timeout_s=deadline_s,
            )
            for _ in range(lanes)
        ]
        self._idle = list(self._lanes)
        self._deadline_s = deadline_s
        self._reads = reads
        self._turns = asyncio.Semaphore(lanes)
        self._closed = False

    @contextlib.asynccontextmanager
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
            if self._reads and lane.well:
                self.health.succeeded()
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
            error = unavailable(f"it was busy for {self._deadline_s:g} s")
            self.health.failed(error.message)
            raise error from None
        try:
            self._require_open()
        except StoreUnavailable:
            self._turns.release()
            raise

    def _require_open(self) -> None:
        if self._closed:
            raise unavailable("it is closed")


def reader_pool(path: Path, *, siblings: list[Lane], lanes: int, deadline_s: float) -> LanePool:
    """Lanes that only read, each with a view of the data as they were when it began."""
    return LanePool(
        path,
        siblings=siblings,
        lanes=lanes,
        deadline_s=deadline_s,
        begin="BEGIN",
        pragmas=("query_only = ON",),
        reads=True,
    )


def writer_pool(path: Path, *, siblings: list[Lane], durable: bool, deadline_s: float) -> LanePool:
    """The one lane that writes; `durable` commits wait for the disk (`synchronous=FULL`)."""
    return LanePool(
        path,
        siblings=siblings,
        lanes=1,
        deadline_s=deadline_s,
        begin="BEGIN IMMEDIATE",
        pragmas=(
            f"synchronous = {'FULL' if durable else 'NORMAL'}",
            f"journal_size_limit = {_KEPT_LOG_BYTES}",
            # Ids are random, so writes touch pages all over: fewer checkpoints and a larger cache double what is
            # written of a user with many relations (benchmarks.stores).
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
            f"cache_size = -{_CACHE_KIB}",
        ),
        reads=False,
    )
