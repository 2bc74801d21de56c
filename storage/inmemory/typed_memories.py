"""Typed memories and runs of jobs in memory."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog
from memory.ports.repositories import Access, TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ..shared.checks import check_owner
from ..shared.stored_values import with_access
from .state import State


class InMemoryTypedMemories(TypedMemoryRepository):
    """The typed memories of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        memories = self._state.readable.typed_memories
        return [memories[memory_id] for memory_id in memory_ids if memory_id in memories]

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
        memories = self._state.writable.typed_memories
        there = [memory_id for memory_id in dict.fromkeys(memory_ids) if memory_id in memories]
        for memory_id in there:
            del memories[memory_id]
        self._state.queue(Collection.TYPED_MEMORIES, there)
        return len(there)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        memories = self._state.writable.typed_memories
        for access in accesses:
            if access.item_id in memories:
                memories[access.item_id] = with_access(memories[access.item_id], access)


class InMemoryRuns(RunLog):
    """Runs of jobs; they end with the process."""

    def __init__(self) -> None:
        self._runs: dict[str, PipelineRun] = {}

    @override
    async def save(self, run: PipelineRun) -> None:
        self._runs[run.run_id] = run

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        mine = [run for run in self._runs.values() if run.pipeline == pipeline]
        return sorted(mine, key=lambda run: (run.started_at, run.run_id), reverse=True)[: max(limit, 0)]
