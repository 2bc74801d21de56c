"""Typed memories in memory."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.repositories import Access, TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ...shared.checks import check_owner
from .state import InMemoryRepository, count_accesses, delete_by_id, existing


class InMemoryTypedMemories(InMemoryRepository, TypedMemoryRepository):
    """The typed memories of one user."""

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        return existing(self._state.readable.typed_memories, memory_ids)

    @override
    async def page(
        self,
        *,
        after: str | None = None,
        limit: int,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
    ) -> list[TypedMemory]:
        found = [
            memory
            for memory_id, memory in sorted(self._state.readable.typed_memories.items())
            if (after is None or memory_id > after)
            and entity_type in (None, memory.entity_type)
            and status in (None, memory.status)
        ]
        return found[: max(limit, 0)]

    @override
    async def save(self, memories: Sequence[TypedMemory]) -> None:
        check_owner(memories, self._state.user_id)
        self._state.writable.typed_memories.update({memory.memory_id: memory for memory in memories})
        self._state.queue(Collection.TYPED_MEMORIES, [memory.memory_id for memory in memories])

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        deleted = delete_by_id(self._state.writable.typed_memories, memory_ids)
        self._state.queue(Collection.TYPED_MEMORIES, deleted)
        return len(deleted)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        count_accesses(self._state.writable.typed_memories, accesses)
