"""Connections to the SQLite file, each in a thread of its own: one that writes, a few that read.

All work of a connection runs in its one thread, in the order in which it was submitted. The transaction of a cancelled
task is therefore rolled back before the next unit of work begins, even where nothing awaits the rollback.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import structlog

from memory.values.errors import StoreBusy, StoreUnavailable

from .driver import Driver
from .health import Health, error_code, explain, unavailable

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_KEPT_LOG_BYTES = 64 * 2**20
_CHECKPOINT_PAGES = 8_000
_CACHE_KIB = 65_536
_log = structlog.get_logger(__name__)
_TRANSIENT = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
"""SQLite error codes after which the connection can still be used."""


class Connection:
    """One SQLite connection in one thread.

    After an error that is not transient, or when the open file is no longer the one at `path`, the handle is closed and
    the next unit of work opens a new one. Once the file or the disk is repaired, work continues by itself.

    Args:
        path: The database file, already migrated.
        driver: Opens the file.
        siblings: All connections of this process to the file; this one adds itself. They are closed together, since
            SQLite shares the file's mode between them, such as read-only.
        health: Counts failures.
        begin: The statement that opens a transaction.
        pragmas: Settings of every handle.
        busy_timeout_s: How long a statement waits for other processes.

    Attributes:
        succeeded: Whether the current transaction has begun and raised no `StoreUnavailable` since.
    """

    def __init__(
        self,
        path: Path,
        *,
        driver: Driver,
        siblings: "list[Connection]",
        health: Health,
        begin: str,
        pragmas: tuple[str, ...],
        busy_timeout_s: float,
    ) -> None:
        self.succeeded = False
        siblings.append(self)
        self._path = path
        self._driver = driver
        self._siblings = siblings
        self._health = health
        self._begin = begin
        self._pragmas = pragmas
        self._busy_timeout_s = busy_timeout_s
        self._handle: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._must_reopen = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")

    async def run(self, work: Work[T]) -> T:
        """Runs `work` with the SQLite handle, in the connection's thread.

        Raises:
            StoreUnavailable: The file is locked, full, read-only, corrupt or gone.
        """
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._call, work)
        except StoreUnavailable as error:
            self.succeeded = False
            self._health.failed(error.message)
            raise

    async def begin(self) -> None:
        """Opens a transaction; a reader sees a snapshot of the data until it ends.

        Raises:
            StoreUnavailable: The file is gone or locked, or the connection writes and the file is read-only.
        """

        def work(handle: sqlite3.Connection) -> None:
            handle.execute(self._begin)
            handle.execute("SELECT 1 FROM migrations LIMIT 1").fetchone()

        self.succeeded = False
        self._thread.submit(self._close_if_file_moved)
        await self.run(work)
        self.succeeded = True

    async def commit(self) -> None:
        """Makes the changes durable; the transaction ends."""
        await self.run(_commit)
        self._health.succeeded()

    def roll_back(self) -> "Future[None]":
        """Undoes the open transaction, if any, after all work submitted before; need not be awaited."""
        return self._thread.submit(self._roll_back)

    def reopen(self) -> None:
        """Closes the handle as soon as no transaction is open; the next unit of work opens a new one."""
        self._must_reopen = True
        with contextlib.suppress(RuntimeError):  # the thread has ended: this connection is closed
            self._thread.submit(self._close_if_idle)

    async def close(self) -> None:
        """Closes the handle and ends the thread."""
        await asyncio.wrap_future(self._thread.submit(self._close_handle))
        self._thread.shutdown(wait=False)

    def _call(self, work: Work[T]) -> T:
        try:
            if self._handle is None:
                self._handle = self._open()
            return work(self._handle)
        except self._driver.caller_errors:
            raise
        except self._driver.error as error:
            if error_code(error) not in _TRANSIENT:
                for connection in self._siblings:
                    connection.reopen()
            raise unavailable(explain(error)) from error

    def _open(self) -> sqlite3.Connection:
        # Mode rw: a file that has vanished is an error, never a new and empty memory.
        self._file = self._file_at_path()
        handle = self._driver.connect(f"{self._path.absolute().as_uri()}?mode=rw", timeout_s=self._busy_timeout_s)
        try:
            for pragma in self._pragmas:
                handle.execute(f"PRAGMA {pragma}")
        except self._driver.error:
            handle.close()
            raise
        return handle

    def _roll_back(self) -> None:
        if self._handle is not None and self._handle.in_transaction:
            try:
                self._handle.execute("ROLLBACK")
            except self._driver.error as error:
                _log.warning("record_rollback_failed", error=str(error))
                self._must_reopen = True
        if self._must_reopen:
            self._close_handle()

    def _close_if_idle(self) -> None:
        if self._must_reopen and not (self._handle is not None and self._handle.in_transaction):
            self._close_handle()

    def _close_if_file_moved(self) -> None:
        # SQLite would go on writing to a file that was removed or replaced, and the data would be lost.
        if self._handle is not None and self._file_at_path() != self._file:
            _log.warning("record_file_moved", path=str(self._path))
            self._close_handle()

    def _file_at_path(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _close_handle(self) -> None:
        handle, self._handle = self._handle, None
        self._must_reopen = False
        if handle is not None:
            try:
                handle.close()
            except self._driver.error as error:
                _log.warning("record_close_failed", error=str(error))


def _commit(handle: sqlite3.Connection) -> None:
    handle.execute("COMMIT")


class ConnectionPool:
    """Hands out connections in the order in which they are asked for.

    Args:
        path: The database file, already migrated.
        driver: Opens the file.
        siblings: The connections of all pools to this file.
        size: How many units of work may be open at once.
        deadline_s: How long a unit of work waits for a connection, and then for other processes.
        begin: The statement that opens a transaction.
        pragmas: Settings of every connection.
        reads: Whether the connections only read. A read has succeeded at its end, a write when it is committed.
    """

    def __init__(
        self,
        path: Path,
        *,
        driver: Driver,
        siblings: list[Connection],
        size: int,
        deadline_s: float,
        begin: str,
        pragmas: tuple[str, ...],
        reads: bool,
    ) -> None:
        self.health = Health()
        self._connections = [
            Connection(
                path,
                driver=driver,
                siblings=siblings,
                health=self.health,
                begin=begin,
                pragmas=("temp_store = MEMORY", "trusted_schema = OFF", *pragmas),
                busy_timeout_s=deadline_s,
            )
            for _ in range(size)
        ]
        self._idle = list(self._connections)
        self._deadline_s = deadline_s
        self._reads = reads
        self._free = asyncio.Semaphore(size)
        self._completed = 0
        self._closed = False

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Opens a transaction on a free connection; the end of the block rolls it back unless it was committed.

        Raises:
            StoreBusy: No connection came free before the deadline, as others were served.
            StoreUnavailable: None came free although nobody was served, or SQLite refuses.
        """
        await self._wait()
        connection = self._idle.pop()
        try:
            await connection.begin()
            yield connection
        finally:
            if connection.succeeded:
                self._completed += 1
                if self._reads:
                    self.health.succeeded()
            rolled_back = connection.roll_back()
            self._idle.append(connection)
            self._free.release()
            # After the block no lock of this transaction is left. Cancelling this wait does not cancel the rollback.
            await asyncio.shield(asyncio.wrap_future(rolled_back))

    async def run_alone(self, work: Work[T]) -> T:
        """Runs work outside of any transaction, on a connection that nobody else uses meanwhile.

        Raises:
            StoreUnavailable: No connection came free before the deadline, or SQLite refuses.
        """
        await self._wait()
        connection = self._idle.pop()
        try:
            return await connection.run(work)
        finally:
            self._idle.append(connection)
            self._free.release()

    async def close(self) -> None:
        """Lets open units of work finish (until the deadline) and closes every connection."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(self._deadline_s):
                for _ in self._connections:
                    await self._free.acquire()
        except TimeoutError:
            _log.warning("record_closed_with_open_transactions")
        for connection in self._connections:
            await connection.close()

    async def _wait(self) -> None:
        self._require_open()
        completed = self._completed
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._free.acquire()
        except TimeoutError:
            error = unavailable(f"it was busy for {self._deadline_s:g} s")
            if self._completed > completed:
                raise StoreBusy(error.message, component=error.component) from None
            self.health.failed(error.message)
            raise error from None
        try:
            self._require_open()
        except StoreUnavailable:
            self._free.release()
            raise

    def _require_open(self) -> None:
        if self._closed:
            raise unavailable("it is closed")


async def run_alone(pool: ConnectionPool, work: Work[T], *, commit: bool = False) -> T:
    """Runs work in a transaction of its own."""
    async with pool.transaction() as connection:
        result = await connection.run(work)
        if commit:
            await connection.commit()
        return result


def reader_pool(
    path: Path, *, driver: Driver, siblings: list[Connection], size: int, deadline_s: float
) -> ConnectionPool:
    """Connections that only read, each with a snapshot of the data at the beginning of its transaction."""
    return ConnectionPool(
        path,
        driver=driver,
        siblings=siblings,
        size=size,
        deadline_s=deadline_s,
        begin="BEGIN",
        pragmas=("query_only = ON",),
        reads=True,
    )


def writer_pool(
    path: Path, *, driver: Driver, siblings: list[Connection], durable: bool, deadline_s: float
) -> ConnectionPool:
    """The one connection that writes; `durable` commits wait for the disk (`synchronous=FULL`)."""
    return ConnectionPool(
        path,
        driver=driver,
        siblings=siblings,
        size=1,
        deadline_s=deadline_s,
        begin="BEGIN IMMEDIATE",
        pragmas=(
            f"synchronous = {'FULL' if durable else 'NORMAL'}",
            f"journal_size_limit = {_KEPT_LOG_BYTES}",
            # Ids are random, so writes touch pages all over the file: fewer checkpoints and a larger cache double the
            # write rate of a user with many relations (benchmarks.stores).
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
            f"cache_size = -{_CACHE_KIB}",
            "secure_delete = ON",  # deleted and replaced rows are overwritten; `erasing.purge` does the rest
        ),
        reads=False,
    )
