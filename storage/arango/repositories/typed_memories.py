"""Typed memories in ArangoDB."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.repositories import Access, TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ...shared.checks import check_owner
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, ascii_of, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "aam_memories"


class ArangoTypedMemories(ArangoRepository, TypedMemoryRepository):
    """The typed memories of one user."""

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        return await self._get(TypedMemory, _COLLECTION, memory_ids)

    @override
    async def page(
        self,
        *,
        after: str | None = None,
        limit: int,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
    ) -> list[TypedMemory]:
        conditions = {
            "after": None if after is None else order_of(after),
            "type": None if entity_type is None else ascii_of(entity_type),
            "status": None if status is None else status.value,
            "limit": max(limit, 0),
        }
        return await self._values(TypedMemory, aql.TYPED_MEMORIES, **conditions)

    @override
    async def save(self, memories: Sequence[TypedMemory]) -> None:
        check_owner(memories, self._user_id)
        latest = {memory.memory_id: memory for memory in memories}

        def work(query: Query) -> None:
            documents.put(query, _COLLECTION, [_document(self._user_id, memory) for memory in latest.values()])
            documents.enqueue(self._transaction, query, Collection.TYPED_MEMORIES, latest)

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            return len(documents.delete(self._transaction, query, _COLLECTION, Collection.TYPED_MEMORIES, memory_ids))

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            memories = documents.accessed_by_id(query, _COLLECTION, TypedMemory, self._user_id, accesses)
            documents.put(query, _COLLECTION, [_document(self._user_id, memory) for memory in memories])

        await self._transaction.write(work)


def _document(user_id: str, memory: TypedMemory) -> Document:
    return {
        "_key": key_of(user_id, memory.memory_id),
        "order": order_of(memory.memory_id),
        "type": ascii_of(memory.entity_type),
        "status": memory.status.value,
        "body": memory.model_dump_json(),
    }
