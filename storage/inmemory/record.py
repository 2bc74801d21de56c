"""The system of record in memory: deterministic, for tests and trials; nothing survives the process."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import fields

from typing_extensions import override

from memory.ports.stores.record import SystemOfRecord, UnitOfWork
from memory.values.errors import StoreUnavailable

from ..shared.checks import check_user
from .backlog import InMemoryBacklog
from .keys import InMemoryKeys
from .repositories.categories import InMemoryCategories, InMemoryCategoryAccesses
from .repositories.changes import InMemoryChanges
from .repositories.corpora import InMemoryCorpora, InMemoryKnowledge, InMemorySources
from .repositories.entities import InMemoryEntities
from .repositories.erasing import InMemoryErasure
from .repositories.facts import InMemoryFacts
from .repositories.graph import InMemoryGraph
from .repositories.items import InMemoryItems
from .repositories.knowledge_graph import InMemoryKnowledgeGraph
from .repositories.log import InMemoryLog
from .repositories.memories import InMemoryMemories
from .repositories.policies import InMemoryPolicies
from .repositories.relations import InMemoryRelations
from .repositories.state import State, UserData
from .runs import InMemoryRuns


class InMemoryUnitOfWork(UnitOfWork):
    """A copy of one user's data, which replaces the shared one at the commit."""

    def __init__(self, state: State, users: dict[str, UserData], runs: InMemoryRuns) -> None:
        self.log = InMemoryLog(state)
        self.entities = InMemoryEntities(state)
        self.relations = InMemoryRelations(state)
        self.memories = InMemoryMemories(state)
        self.facts = InMemoryFacts(state)
        self.categories = InMemoryCategories(state)
        self.category_accesses = InMemoryCategoryAccesses(state)
        self.graph = InMemoryGraph(state)
        self.changes = InMemoryChanges(state)
        self.policies = InMemoryPolicies(state)
        self.corpora = InMemoryCorpora(state)
        self.sources = InMemorySources(state)
        self.knowledge = InMemoryKnowledge(state)
        self.knowledge_graph = InMemoryKnowledgeGraph(state)
        self.items = InMemoryItems(state)
        self.erasure = InMemoryErasure(state)
        self._state = state
        self._users = users
        self._runs = runs

    @override
    async def commit(self) -> None:
        data = self._state.readable
        if self._state.can_write:
            self._users[self._state.user_id] = data
            for run in self._state.runs:
                await self._runs.save(run)
        self._state.over = True

    @override
    async def rollback(self) -> None:
        _ = self._state.readable
        self._state.over = True


class InMemoryRecord(SystemOfRecord):
    """Units of work over dictionaries; a reader keeps the data as they were when it began."""

    def __init__(self) -> None:
        self._users: dict[str, UserData] = {}
        self._numbers = itertools.count(1)
        self._write_lock = asyncio.Lock()
        self._closed = False
        self.backlog = InMemoryBacklog(self._users, self._numbers, self._write_lock)
        self._runs = InMemoryRuns()
        self.runs = self._runs
        self.keys = InMemoryKeys()

    @override
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._unit(check_user(user_id), can_write=False)

    @override
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._writing(check_user(user_id))

    @override
    async def erase_user(self, user_id: str) -> Mapping[str, int]:
        check_user(user_id)
        self._check_open()
        async with self._write_lock:
            data = self._users.pop(user_id, UserData())
        return {attribute.name: len(getattr(data, attribute.name)) for attribute in fields(data)}

    @override
    async def purge(self) -> bool:
        self._check_open()
        return True

    @override
    async def ping(self) -> None:
        async with self._unit("ping", can_write=False):
            pass

    @override
    def figures(self) -> Mapping[str, float | str]:
        return {"backend": "memory", "failures": 0}

    @override
    async def close(self) -> None:
        self._closed = True

    @asynccontextmanager
    async def _writing(self, user_id: str) -> AsyncIterator[UnitOfWork]:
        async with self._write_lock, self._unit(user_id, can_write=True) as unit:
            yield unit

    @asynccontextmanager
    async def _unit(self, user_id: str, *, can_write: bool) -> AsyncIterator[UnitOfWork]:
        self._check_open()
        data = self._users.get(user_id, UserData())
        state = State(data.copy() if can_write else data, user_id, self._numbers, can_write=can_write)
        try:
            yield InMemoryUnitOfWork(state, self._users, self._runs)
        finally:
            state.over = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("The system of record cannot answer: it is closed.", component="record")
