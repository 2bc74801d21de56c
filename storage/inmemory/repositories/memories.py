"""Memories in memory."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from typing_extensions import override

from memory.ports.stores.places import Place
from memory.ports.stores.repositories import Access, MemoryRepository
from memory.ports.stores.vectors import Collection
from memory.values.records import Memory

from ...shared.checks import check_aware, check_owner
from .state import InMemoryRepository, behind, count_accesses, delete_by_id, existing, page_of


class InMemoryMemories(InMemoryRepository, MemoryRepository):
    """The memories of one user."""

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        return existing(self._state.readable.memories, memory_ids)

    @override
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        memories = self._state.readable.memories.values()
        chosen = [memory for memory in memories if session_id in (None, memory.session_id)]
        return sorted(chosen, key=lambda memory: memory.created_at)[::-1][: max(limit, 0)]

    @override
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        sessions: dict[str, list[str]] = {}
        for memory in sorted(self._state.readable.memories.values(), key=lambda memory: memory.created_at):
            sessions.setdefault(memory.session_id, []).append(memory.memory_id)
        before = {later: earlier for ids in sessions.values() for earlier, later in pairwise(ids)}
        return {memory_id: before[memory_id] for memory_id in memory_ids if memory_id in before}

    @override
    async def mentioning(self, entity_id: str) -> list[Memory]:
        memories = self._state.readable.memories
        return [memories[id_] for id_ in sorted(memories) if entity_id in memories[id_].entity_ids]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        return page_of(self._state.readable.memories, after, limit)

    @override
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Memory]:
        memories = sorted(self._state.readable.memories.values(), key=lambda memory: memory.created_at)
        return behind(memories, [memory.memory_id for memory in memories], after, limit)

    @override
    async def timeline(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        behind: Place | None = None,
        limit: int,
    ) -> list[Memory]:
        begin = None if since is None else check_aware(since, "since")
        end = None if until is None else check_aware(until, "until")
        chosen = [
            memory
            for memory in self._state.readable.memories.values()
            if (begin is None or begin <= memory.created_at) and (end is None or memory.created_at < end)
        ]
        if behind is not None:
            at, memory_id = check_aware(behind[0], "behind"), behind[1]
            chosen = [m for m in chosen if m.created_at < at or (m.created_at == at and m.memory_id > memory_id)]
        chosen.sort(key=lambda memory: memory.memory_id)
        return sorted(chosen, key=lambda memory: memory.created_at, reverse=True)[: max(limit, 0)]

    @override
    async def save(self, memories: Sequence[Memory]) -> None:
        check_owner(memories, self._state.user_id)
        self._state.writable.memories.update({memory.memory_id: memory for memory in memories})
        self._state.queue(Collection.MEMORIES, [memory.memory_id for memory in memories])

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        deleted = delete_by_id(self._state.writable.memories, memory_ids)
        self._state.queue(Collection.MEMORIES, deleted)
        return len(deleted)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        count_accesses(self._state.writable.memories, accesses)
