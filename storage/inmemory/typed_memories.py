"""Typed memories and runs of jobs in memory."""

from collections.abc import Sequence

from memory.ports.accesses import Access
from memory.ports.runs import PipelineRun, RunLog
from memory.ports.typed_memories import TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ..shared.changes import accessed
from ..shared.checks import check_owner
from .state import State


class InMemoryTypedMemories(TypedMemoryRepository):
    """The typed memories of one user."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        """The memories that exist, in the order of the ids."""
        memories = self._state.readable.typed_memories
        return [memories[memory_id] for memory_id in memory_ids if memory_id in memories]

    async def page(
        self,
        *,
        after: str | None = None,
        limit: int,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
    ) -> list[TypedMemory]:
        """Memories of a type and status, or of any, in the order of their ids."""
        found = [
            memory
            for memory_id, memory in sorted(self._state.readable.typed_memories.items())
            if (after is None or memory_id > after)
            and entity_type in (None, memory.entity_type)
            and status in (None, memory.status)
        ]
        return found[: max(limit, 0)]

    async def save(self, memories: Sequence[TypedMemory]) -> None:
        """Inserts or replaces, and queues them for the vector index."""
        check_owner(memories, self._state.user_id)
        self._state.writable.typed_memories.update({memory.memory_id: memory for memory in memories})
        self._state.queue(Collection.TYPED_MEMORIES, [memory.memory_id for memory in memories])

    async def delete(self, memory_ids: Sequence[str]) -> int:
        """Deletes memories; how many there were."""
        memories = self._state.writable.typed_memories
        there = [memory_id for memory_id in dict.fromkeys(memory_ids) if memory_id in memories]
        for memory_id in there:
            del memories[memory_id]
        self._state.queue(Collection.TYPED_MEMORIES, there)
        return len(there)

    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to the counts of those that exist."""
        memories = self._state.writable.typed_memories
        for access in accesses:
            if access.item_id in memories:
                memories[access.item_id] = accessed(memories[access.item_id], access)


class InMemoryRuns(RunLog):
    """Runs of jobs; they end with the process."""

    def __init__(self) -> None:
        self._runs: dict[str, PipelineRun] = {}

    async def save(self, run: PipelineRun) -> None:
        """Inserts or replaces by `run_id`."""
        self._runs[run.run_id] = run

    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        """The latest runs of a job, latest first."""
        mine = [run for run in self._runs.values() if run.pipeline == pipeline]
        return sorted(mine, key=lambda run: (run.started_at, run.run_id), reverse=True)[: max(limit, 0)]
