"""The typed memories of one user (001's QdrantAdapter, as far as it keeps things)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ..values.typed_memories import MemoryStatus, TypedMemory
from .accesses import Access


class TypedMemoryRepository(ABC):
    """Typed memories by id; the id says type and value, so that an exact match is a look by id."""

    @abstractmethod
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        """The memories that exist, in the order of the ids."""

    @abstractmethod
    async def page(
        self,
        *,
        after: str | None = None,
        limit: int,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
    ) -> list[TypedMemory]:
        """Memories of a type and status, or of any, in the order of their ids, from the first id after `after`."""

    @abstractmethod
    async def save(self, memories: Sequence[TypedMemory]) -> None:
        """Inserts or replaces, and queues them for the vector index."""

    @abstractmethod
    async def delete(self, memory_ids: Sequence[str]) -> int:
        """Deletes memories and queues them, so that the index drops them; how many there were."""

    @abstractmethod
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        """Adds to `access_count` and moves `accessed_at`; see `memory.ports.accesses`."""
