"""The embedded system of record: one SQLite file that several processes may open (STORES, SQLite)."""

import os
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

from typing_extensions import override

from memory.ports.stores.record import SystemOfRecord, UnitOfWork

from ..shared.checks import check_user
from ..shared.encryption import NO_CIPHER, Cipher
from .backlog import SqliteBacklog
from .engine.connections import Connection, ConnectionPool, reader_pool, writer_pool
from .engine.driver import Driver
from .engine.erasing import delete_user, purge
from .engine.health import figures_of, unavailable
from .engine.migrations import migrate
from .engine.transaction import Transaction
from .keys import SqliteKeys
from .repositories.categories import SqliteCategories, SqliteCategoryAccesses
from .repositories.changes import SqliteChanges
from .repositories.corpora import SqliteCorpora
from .repositories.entities import SqliteEntities
from .repositories.erasing import SqliteErasure
from .repositories.facts import SqliteFacts
from .repositories.graph import SqliteGraph
from .repositories.items import SqliteItems
from .repositories.knowledge import SqliteKnowledge
from .repositories.knowledge_graph import SqliteKnowledgeGraph
from .repositories.log import SqliteLog
from .repositories.memories import SqliteMemories
from .repositories.policies import SqlitePolicies
from .repositories.relations import SqliteRelations
from .repositories.sources import SqliteSources
from .runs import SqliteRuns

_MIN_ROOM_BYTES = 8 * 2**20
"""Less than this is full: the vector index and Redis on the same disk need some too."""


class SqliteUnitOfWork(UnitOfWork):
    """A transaction in one user's data; after `commit` or `rollback` it is over."""

    def __init__(self, transaction: Transaction) -> None:
        self.log = SqliteLog(transaction)
        self.entities = SqliteEntities(transaction)
        self.relations = SqliteRelations(transaction)
        self.memories = SqliteMemories(transaction)
        self.facts = SqliteFacts(transaction)
        self.categories = SqliteCategories(transaction)
        self.category_accesses = SqliteCategoryAccesses(transaction)
        self.graph = SqliteGraph(transaction)
        self.changes = SqliteChanges(transaction)
        self.policies = SqlitePolicies(transaction)
        self.corpora = SqliteCorpora(transaction)
        self.sources = SqliteSources(transaction)
        self.knowledge = SqliteKnowledge(transaction)
        self.knowledge_graph = SqliteKnowledgeGraph(transaction)
        self.items = SqliteItems(transaction)
        self.erasure = SqliteErasure(transaction)
        self._transaction = transaction

    @override
    async def commit(self) -> None:
        """Makes all of it durable, or none.

        A commit that is cancelled while it runs may have happened or not: every write can be repeated.
        """
        await self._transaction.commit()

    @override
    async def rollback(self) -> None:
        await self._transaction.rollback()


class SqliteRecord(SystemOfRecord):
    """Units of work over one SQLite file in WAL mode.

    All SQLite calls run in threads of their own. In one process, writers are served in the order in which they asked;
    between processes SQLite decides, within the deadline. Use one instance in one event loop.

    Args:
        readers: Connections of units of work that read.
        writer: The connection of units of work that write.
        backlog: The backlog over all users.
        others: Further pools that the backlog uses; closed with the rest.
        deadline_s: How long `purge` waits for readers.
    """

    def __init__(
        self,
        *,
        readers: ConnectionPool,
        writer: ConnectionPool,
        backlog: SqliteBacklog,
        others: Sequence[ConnectionPool],
        deadline_s: float = 5.0,
    ) -> None:
        self.backlog = backlog
        self.runs = SqliteRuns(reader=readers, writer=writer)
        self.keys = SqliteKeys(reader=readers, writer=writer)
        self._readers = readers
        self._writer = writer
        self._deadline_s = deadline_s
        self._pools = (writer, readers, *others)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        cipher: Cipher = NO_CIPHER,
        durable: bool = True,
        readers: int = 4,
        deadline_s: float = 5.0,
    ) -> "SqliteRecord":
        """Opens the file, creating or migrating it; blocks, so call it while starting.

        Args:
            path: The database file; its folder is created.
            cipher: Encrypts the file and its write-ahead log.
            durable: Whether a commit survives a power cut (`synchronous=FULL`), as the raw log needs, or only a
                killed process (`NORMAL`), which is enough where everything written can be learned again.
            readers: How many units of work may read at once.
            deadline_s: How long a unit of work waits for its turn, and then for other processes.

        Raises:
            StoreUnavailable: The file cannot be opened, has another key, or is from a newer version.
            ModuleNotFoundError: There is a key and SQLCipher is not installed.
        """
        migrate(path, cipher=cipher, deadline_s=deadline_s)
        siblings: list[Connection] = []
        open_reader = partial(reader_pool, path, driver=Driver(cipher), siblings=siblings, deadline_s=deadline_s)
        writer = writer_pool(path, driver=Driver(cipher), siblings=siblings, durable=durable, deadline_s=deadline_s)
        reader, counter = open_reader(size=1), open_reader(size=1)
        return cls(
            readers=open_reader(size=readers),
            writer=writer,
            backlog=SqliteBacklog(reader=reader, counter=counter, writer=writer, path=path),
            others=(reader, counter),
            deadline_s=deadline_s,
        )

    @override
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._unit_of_work(self._readers, check_user(user_id), writable=False)

    @override
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._unit_of_work(self._writer, check_user(user_id), writable=True)

    @override
    async def erase_user(self, user_id: str) -> Mapping[str, int]:
        owner = check_user(user_id)
        async with self._writer.transaction() as connection:
            erased = await connection.run(lambda handle: delete_user(handle, owner))
            await connection.commit()
        return erased

    @override
    async def purge(self) -> bool:
        """Writes the file anew; writers of all processes wait meanwhile."""
        await self._writer.run_alone(lambda handle: purge(handle, deadline_s=self._deadline_s))
        return True

    @override
    async def ping(self) -> None:
        """Reads and writes: only a write shows that no lock is held, and that the disk takes one."""
        async with self._readers.transaction():
            pass
        async with self._writer.transaction() as connection:
            await connection.run(_require_room)
            await connection.run(_rewrite)
            await connection.commit()

    @override
    def figures(self) -> Mapping[str, float | str]:
        return figures_of(pool.health for pool in reversed(self._pools))

    @override
    async def close(self) -> None:
        for pool in self._pools:
            await pool.close()

    @asynccontextmanager
    async def _unit_of_work(self, pool: ConnectionPool, user_id: str, *, writable: bool) -> AsyncIterator[UnitOfWork]:
        async with pool.transaction() as connection:
            transaction = Transaction(connection, user_id=user_id, writable=writable)
            try:
                yield SqliteUnitOfWork(transaction)
            finally:
                transaction.close()


def _require_room(connection: sqlite3.Connection) -> None:
    """Refuses where the disk is as good as full: so small a write as a ping's still fits into pages that SQLite has."""
    disk = os.statvfs(connection.execute("PRAGMA database_list").fetchone()[2])
    if disk.f_bavail * disk.f_frsize < _MIN_ROOM_BYTES:
        raise unavailable(f"the disk is full (less than {_MIN_ROOM_BYTES // 2**20} MiB are left)")


def _rewrite(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE migrations SET applied_at = applied_at WHERE number = 1")
