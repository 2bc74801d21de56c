"""The system of record in ArangoDB: documents, graph, raw log and outbox (STORES, ArangoDB)."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from weakref import WeakValueDictionary

import structlog
from arango.http import HTTPClient
from typing_extensions import override

from memory.ports.stores.record import SystemOfRecord, UnitOfWork

from ..shared.checks import check_user
from .backlog import ArangoBacklog
from .engine import queries as aql
from .engine.client import ArangoServer, ArangoSettings
from .engine.errors import unavailable
from .engine.http import Unreachable
from .engine.schema import USER_COLLECTIONS, prepare
from .engine.transaction import ArangoTransaction
from .keys import ArangoKeys
from .repositories.categories import ArangoCategories, ArangoCategoryAccesses
from .repositories.changes import ArangoChanges
from .repositories.corpora import ArangoCorpora
from .repositories.entities import ArangoEntities
from .repositories.erasing import ArangoErasure
from .repositories.facts import ArangoFacts
from .repositories.graph import ArangoGraph
from .repositories.items import ArangoItems
from .repositories.knowledge import ArangoKnowledge
from .repositories.knowledge_graph import ArangoKnowledgeGraph
from .repositories.log import ArangoLog
from .repositories.memories import ArangoMemories
from .repositories.policies import ArangoPolicies
from .repositories.relations import ArangoRelations
from .repositories.sources import ArangoSources
from .runs import ArangoRuns

_ERASED_AT_ONCE = 2_000
_log = structlog.get_logger(__name__)


class ArangoUnitOfWork(UnitOfWork):
    """A transaction in one user's data; after `commit` it is over."""

    def __init__(self, transaction: ArangoTransaction) -> None:
        self.log = ArangoLog(transaction)
        self.entities = ArangoEntities(transaction)
        self.relations = ArangoRelations(transaction)
        self.memories = ArangoMemories(transaction)
        self.facts = ArangoFacts(transaction)
        self.categories = ArangoCategories(transaction)
        self.category_accesses = ArangoCategoryAccesses(transaction)
        self.graph = ArangoGraph(transaction)
        self.changes = ArangoChanges(transaction)
        self.policies = ArangoPolicies(transaction)
        self.corpora = ArangoCorpora(transaction)
        self.sources = ArangoSources(transaction)
        self.knowledge = ArangoKnowledge(transaction)
        self.knowledge_graph = ArangoKnowledgeGraph(transaction)
        self.items = ArangoItems(transaction)
        self.erasure = ArangoErasure(transaction)
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


class ArangoRecord(SystemOfRecord):
    """Units of work over one ArangoDB database; several processes may use it.

    It connects, and creates or migrates the database, when it is used for the first time, and tries again when that
    failed: a service may start while ArangoDB is unavailable. There is one writer for a user at a time, in this process
    in the order in which they asked. Use one instance in one event loop.

    Args:
        settings: Where ArangoDB is.
        http: The transport; a real one where none is given.
    """

    def __init__(self, settings: ArangoSettings, *, http: HTTPClient | None = None) -> None:
        self._server = ArangoServer(settings, prepare=prepare, http=http)
        self._write_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._transactions: set[ArangoTransaction] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self.runs = ArangoRuns(self._server)
        self.keys = ArangoKeys(self._server)
        self.backlog = ArangoBacklog(self._server, lambda user_id: self._transaction(user_id, writable=True))

    @classmethod
    def open(cls, settings: ArangoSettings, *, http: HTTPClient | None = None) -> "ArangoRecord":
        """Connects and brings the database up to date; blocks, so call it while starting.

        A server that cannot be reached is only logged: the first use tries again.

        Raises:
            StoreUnavailable: Waiting will not help: the password is wrong, the rights are too few, the server is too
                old, or the database is from a newer version.
        """
        record = cls(settings, http=http)
        try:
            record._server.prepare()
        except Unreachable as error:
            _log.warning("record_unavailable_at_start", error=error.message)
        return record

    @override
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._unit(check_user(user_id), writable=False)

    @override
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._unit(check_user(user_id), writable=True)

    @override
    async def erase_user(self, user_id: str) -> Mapping[str, int]:
        """Deletes in portions, each a transaction; the document that locks the user goes last."""
        check_user(user_id)
        erased = dict.fromkeys((name for name in USER_COLLECTIONS if name != "users"), 0)
        for name in erased:
            while count := await self._erase_some(user_id, name):
                erased[name] += count
        await self._erase_some(user_id, "users")
        return erased

    @override
    async def purge(self) -> bool:
        """Nothing: ArangoDB frees deleted documents when it compacts its files."""
        return False

    @override
    async def ping(self) -> None:
        await self._server.call(lambda database: database.version())

    @override
    def figures(self) -> Mapping[str, float | str]:
        return {"backend": "arangodb", **self._server.figures()}

    @override
    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(self._server.settings.deadline_s):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("record_closed_with_open_transactions", transactions=len(self._transactions))
        await self._server.close()

    async def _erase_some(self, user_id: str, collection: str) -> int:
        async with self._transaction(user_id, writable=True) as transaction:
            count = await transaction.write(
                lambda query: len(query(aql.ERASE, collection=collection, limit=_ERASED_AT_ONCE))
            )
            await transaction.commit()
        return count

    @asynccontextmanager
    async def _unit(self, user_id: str, *, writable: bool) -> AsyncIterator[UnitOfWork]:
        async with self._transaction(user_id, writable=writable) as transaction:
            yield ArangoUnitOfWork(transaction)

    @asynccontextmanager
    async def _transaction(self, user_id: str, *, writable: bool) -> AsyncIterator[ArangoTransaction]:
        if self._closed:
            raise unavailable("it is closed")
        write_lock = self._write_locks.setdefault(user_id, asyncio.Lock()) if writable else None
        transaction = ArangoTransaction(self._server, user_id=user_id, write_lock=write_lock)
        self._transactions.add(transaction)
        self._idle.clear()
        try:
            await transaction.begin()
            yield transaction
        finally:
            # A cancelled caller does not wait, yet it is rolled back before the next writer begins.
            await asyncio.shield(asyncio.ensure_future(self._finish(transaction)))

    async def _finish(self, transaction: ArangoTransaction) -> None:
        try:
            await transaction.close()
        finally:
            self._transactions.discard(transaction)
            if not self._transactions:
                self._idle.set()
