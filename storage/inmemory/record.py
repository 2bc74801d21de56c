"""The system of record in memory: deterministic, for tests and trials; nothing survives the process."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from typing_extensions import override

from memory.ports.record import Backlog, OutboxEntry, SystemOfRecord, UnitOfWork
from memory.ports.vectors import Collection
from memory.values.errors import StoreUnavailable
from memory.values.records import Resource

from ..shared.checks import check_user
from .changes import InMemoryChanges
from .facts import InMemoryCategories, InMemoryCategoryAccesses, InMemoryFacts, InMemoryGraph
from .repositories import InMemoryEntities, InMemoryLog, InMemoryMemories, InMemoryRelations
from .state import State, UserData
from .typed_memories import InMemoryRuns, InMemoryTypedMemories


class _Unit(UnitOfWork):
    def __init__(self, state: State, users: dict[str, UserData]) -> None:
        self.log = InMemoryLog(state)
        self.entities = InMemoryEntities(state)
        self.relations = InMemoryRelations(state)
        self.memories = InMemoryMemories(state)
        self.facts = InMemoryFacts(state)
        self.categories = InMemoryCategories(state)
        self.category_accesses = InMemoryCategoryAccesses(state)
        self.graph = InMemoryGraph(state)
        self.typed_memories = InMemoryTypedMemories(state)
        self.changes = InMemoryChanges(state)
        self._state = state
        self._users = users

    @override
    async def commit(self) -> None:
        data = self._state.readable
        if self._state.can_write:
            self._users[self._state.user_id] = data
        self._state.over = True

    @override
    async def rollback(self) -> None:
        _ = self._state.readable
        self._state.over = True


class _Backlog(Backlog):
    def __init__(self, users: dict[str, UserData], numbers: Iterator[int], turn: asyncio.Lock) -> None:
        self._users = users
        self._numbers = numbers
        self._turn = turn

    @override
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        waiting = [data.resources[resource_id] for _, data in self._of(user_id) for resource_id in data.unlearned]
        return sorted(waiting, key=lambda resource: resource.sequence)[: max(limit, 0)]

    @override
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        entries = [
            OutboxEntry(sequence=sequence, user_id=user, collection=collection, item_id=item_id)
            for user, data in self._of(user_id)
            for (collection, item_id), sequence in data.outbox.items()
        ]
        return sorted(entries, key=lambda entry: entry.sequence)[: max(limit, 0)]

    @override
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        async with self._turn:
            for entry in entries:
                data = self._users.get(entry.user_id, UserData()).copy()
                if data.outbox.get((entry.collection, entry.item_id)) == entry.sequence:
                    del data.outbox[entry.collection, entry.item_id]
                    self._users[entry.user_id] = data

    @override
    async def requeue(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        check_user(user_id)
        async with self._turn:
            data = self._users.get(user_id, UserData()).copy()
            data.queue(collection, item_ids, self._numbers)
            self._users[user_id] = data

    @override
    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        found = sorted(user for user, data in self._users.items() if data.any)
        return [user for user in found if after is None or user > after][: max(limit, 0)]

    @override
    async def counts(self) -> Mapping[str, int]:
        users = self._users.values()
        return {
            "resources": sum(len(data.resources) for data in users),
            "unlearned": sum(len(data.unlearned) for data in users),
            "entities": sum(len(data.entities) for data in users),
            "relations": sum(len(data.relations) for data in users),
            "memories": sum(len(data.memories) for data in users),
            "facts": sum(len(data.facts) for data in users),
            "aam_memories": sum(len(data.typed_memories) for data in users),
            "outbox": sum(len(data.outbox) for data in users),
            "users": sum(data.any for data in users),
            "size_bytes": 0,
        }

    def _of(self, user_id: str | None) -> list[tuple[str, UserData]]:
        if user_id is None:
            return list(self._users.items())
        return [(user_id, self._users.get(check_user(user_id), UserData()))]


class InMemoryRecord(SystemOfRecord):
    """Units of work over dictionaries; a reader keeps the data as they were when it began."""

    def __init__(self) -> None:
        self._users: dict[str, UserData] = {}
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()
        self._closed = False
        self.backlog = _Backlog(self._users, self._numbers, self._turn)
        self.runs = InMemoryRuns()

    @override
    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._unit(check_user(user_id), can_write=False)

    @override
    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        return self._writing(check_user(user_id))

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
        async with self._turn, self._unit(user_id, can_write=True) as unit:
            yield unit

    @asynccontextmanager
    async def _unit(self, user_id: str, *, can_write: bool) -> AsyncIterator[UnitOfWork]:
        if self._closed:
            raise StoreUnavailable("The system of record cannot answer: it is closed.", component="record")
        data = self._users.get(user_id, UserData())
        state = State(data.copy() if can_write else data, user_id, self._numbers, can_write=can_write)
        try:
            yield _Unit(state, self._users)
        finally:
            state.over = True
