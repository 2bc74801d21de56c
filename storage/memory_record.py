"""The system of record in memory: deterministic, for tests and trials; nothing survives the process."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from memory.entities import Entity, EntityStatus
from memory.errors import StoreUnavailable
from memory.ports.record import (
    Backlog,
    EntityRepository,
    MemoryRepository,
    OutboxEntry,
    RawLog,
    SystemOfRecord,
    UnitOfWork,
)
from memory.ports.vectors import Collection
from memory.records import Memory, Resource

from .checks import check_owner, check_user
from .names import comparable, names_of, position_of, word_borders


@dataclass
class _UserData:
    """What one user has; never changed once it is shared, only replaced by a changed copy."""

    resources: dict[str, Resource] = field(default_factory=dict)
    unlearned: dict[str, None] = field(default_factory=dict)
    entities: dict[str, Entity] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    outbox: dict[tuple[Collection, str], int] = field(default_factory=dict)

    def copy(self) -> "_UserData":
        return _UserData(
            dict(self.resources), dict(self.unlearned), dict(self.entities), dict(self.memories), dict(self.outbox)
        )


class _State:
    """The data that a unit of work sees, and whether it may still touch them."""

    def __init__(self, data: _UserData, user_id: str, numbers: Iterator[int], *, writable: bool) -> None:
        self.user_id = user_id
        self.numbers = numbers
        self.over = False
        self._data = data
        self._writable = writable

    @property
    def readable(self) -> _UserData:
        if self.over:
            raise RuntimeError("this unit of work is over")
        return self._data

    @property
    def writable(self) -> _UserData:
        if not self._writable:
            raise RuntimeError("this unit of work was opened for reading")
        return self.readable

    def queue(self, collection: Collection, item_ids: Sequence[str]) -> None:
        for item_id in item_ids:
            self.writable.outbox[collection, item_id] = next(self.numbers)


class _Log(RawLog):
    def __init__(self, state: _State) -> None:
        self._state = state

    async def append(self, resources: Sequence[Resource]) -> None:
        check_owner(resources, self._state.user_id)
        data = self._state.writable
        for resource in resources:
            if resource.resource_id not in data.resources:
                sequence = next(self._state.numbers)
                data.resources[resource.resource_id] = resource.model_copy(update={"sequence": sequence})
                if resource.learn:
                    data.unlearned[resource.resource_id] = None

    async def get(self, resource_ids: Sequence[str]) -> list[Resource]:
        resources = self._state.readable.resources
        return [resources[resource_id] for resource_id in resource_ids if resource_id in resources]

    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> list[Resource]:
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if resource.session_id == session_id and (before is None or resource.sequence < before)
        ]
        return found[-limit:] if limit > 0 else []

    async def mark_learned(self, resource_ids: Sequence[str]) -> list[str]:
        unlearned = self._state.writable.unlearned
        taken = [resource_id for resource_id in dict.fromkeys(resource_ids) if resource_id in unlearned]
        for resource_id in taken:
            del unlearned[resource_id]
        return taken


class _Entities(EntityRepository):
    def __init__(self, state: _State) -> None:
        self._state = state

    async def get(self, entity_ids: Sequence[str]) -> list[Entity]:
        entities = self._state.readable.entities
        return [entities[entity_id] for entity_id in entity_ids if entity_id in entities]

    async def get_by_value(self, value: str) -> Entity | None:
        name = comparable(value)
        ranked = [
            (entity.status is not EntityStatus.ACTIVE, names.index(name) > 0, entity.entity_id, entity)
            for entity in self._state.readable.entities.values()
            if name in (names := names_of(entity))
        ]
        return min(ranked)[-1] if ranked else None

    async def found_in(self, text: str) -> list[Entity]:
        where = comparable(text)
        borders = word_borders(where)
        ranked = sorted(
            (-len(name), position, entity.entity_id)
            for entity in self._active()
            for name in names_of(entity)
            if (position := position_of(name, where, borders)) is not None
        )
        return await self.get(list(dict.fromkeys(entity_id for _, _, entity_id in ranked)))

    async def recent(self, *, limit: int) -> list[Entity]:
        oldest_first = sorted(self._active(), key=lambda entity: entity.last_mentioned)
        return oldest_first[::-1][: max(limit, 0)]

    async def save(self, entities: Sequence[Entity]) -> None:
        check_owner(entities, self._state.user_id)
        self._state.writable.entities.update({entity.entity_id: entity for entity in entities})
        self._state.queue(Collection.ENTITIES, [entity.entity_id for entity in entities])

    def _active(self) -> list[Entity]:
        entities = self._state.readable.entities.values()
        return [entity for entity in entities if entity.status is EntityStatus.ACTIVE]


class _Memories(MemoryRepository):
    def __init__(self, state: _State) -> None:
        self._state = state

    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        memories = self._state.readable.memories
        return [memories[memory_id] for memory_id in memory_ids if memory_id in memories]

    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        memories = self._state.readable.memories.values()
        mine = [memory for memory in memories if session_id in (None, memory.session_id)]
        return sorted(mine, key=lambda memory: memory.created_at)[::-1][: max(limit, 0)]

    async def save(self, memories: Sequence[Memory]) -> None:
        check_owner(memories, self._state.user_id)
        self._state.writable.memories.update({memory.memory_id: memory for memory in memories})
        self._state.queue(Collection.MEMORIES, [memory.memory_id for memory in memories])


class _Unit(UnitOfWork):
    def __init__(self, state: _State, users: dict[str, _UserData]) -> None:
        self.log = _Log(state)
        self.entities = _Entities(state)
        self.memories = _Memories(state)
        self._state = state
        self._users = users

    async def commit(self) -> None:
        self._users[self._state.user_id] = self._state.readable
        self._state.over = True


class _Backlog(Backlog):
    def __init__(self, users: dict[str, _UserData], turn: asyncio.Lock) -> None:
        self._users = users
        self._turn = turn

    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        waiting = [data.resources[resource_id] for _, data in self._of(user_id) for resource_id in data.unlearned]
        return sorted(waiting, key=lambda resource: resource.sequence)[: max(limit, 0)]

    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        entries = [
            OutboxEntry(sequence=sequence, user_id=user, collection=collection, item_id=item_id)
            for user, data in self._of(user_id)
            for (collection, item_id), sequence in data.outbox.items()
        ]
        return sorted(entries, key=lambda entry: entry.sequence)[: max(limit, 0)]

    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        async with self._turn:
            for entry in entries:
                data = self._users.get(entry.user_id, _UserData()).copy()
                if data.outbox.get((entry.collection, entry.item_id)) == entry.sequence:
                    del data.outbox[entry.collection, entry.item_id]
                    self._users[entry.user_id] = data

    async def counts(self) -> Mapping[str, int]:
        users = self._users.values()
        return {
            "resources": sum(len(data.resources) for data in users),
            "unlearned": sum(len(data.unlearned) for data in users),
            "entities": sum(len(data.entities) for data in users),
            "memories": sum(len(data.memories) for data in users),
            "outbox": sum(len(data.outbox) for data in users),
            "users": sum(bool(data.resources or data.entities or data.memories) for data in users),
            "size_bytes": 0,
        }

    def _of(self, user_id: str | None) -> list[tuple[str, _UserData]]:
        if user_id is None:
            return list(self._users.items())
        return [(user_id, self._users.get(check_user(user_id), _UserData()))]


class InMemoryRecord(SystemOfRecord):
    """Units of work over dictionaries; a reader keeps the data as they were when it began."""

    def __init__(self) -> None:
        self._users: dict[str, _UserData] = {}
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()
        self._closed = False
        self.backlog = _Backlog(self._users, self._turn)

    def reading(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A consistent view of one user's data."""
        return self._unit(check_user(user_id), writable=False)

    def writing(self, *, user_id: str) -> AbstractAsyncContextManager[UnitOfWork]:
        """A transaction that may write; one at a time."""
        return self._writing(check_user(user_id))

    async def close(self) -> None:
        """Refuses new units of work."""
        self._closed = True

    @asynccontextmanager
    async def _writing(self, user_id: str) -> AsyncIterator[UnitOfWork]:
        async with self._turn, self._unit(user_id, writable=True) as unit:
            yield unit

    @asynccontextmanager
    async def _unit(self, user_id: str, *, writable: bool) -> AsyncIterator[UnitOfWork]:
        if self._closed:
            raise StoreUnavailable("The system of record cannot answer: it is closed.", component="record")
        data = self._users.get(user_id, _UserData())
        state = _State(data.copy() if writable else data, user_id, self._numbers, writable=writable)
        try:
            yield _Unit(state, self._users)
        finally:
            state.over = True
