"""Typed memories in ArangoDB."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.repositories import Access, TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ...shared.changes import accessed
from ...shared.checks import check_owner
from ..engine import items as items
from ..engine import queries as aql
from ..engine.documents import Document, ascii_of, key_of, order_of
from ..engine.transaction import ArangoTransaction, Query

_COLLECTION = "aam_memories"


class ArangoTypedMemories(TypedMemoryRepository):
    """The typed memories of one user."""

    def __init__(self, transaction: ArangoTransaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        return await self._transaction.read(lambda query: self._by_id(query, memory_ids))

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
        return await self._transaction.read(
            lambda query: items.values(TypedMemory, query(aql.TYPED_MEMORIES, **conditions))
        )

    @override
    async def save(self, memories: Sequence[TypedMemory]) -> None:
        check_owner(memories, self._user_id)
        latest = {memory.memory_id: memory for memory in memories}

        def work(query: Query) -> None:
            items.put(query, _COLLECTION, [_document(self._user_id, memory) for memory in latest.values()])
            items.queue(self._transaction, query, Collection.TYPED_MEMORIES, latest)

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            return len(items.delete(self._transaction, query, _COLLECTION, Collection.TYPED_MEMORIES, memory_ids))

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            for access in accesses:
                found = [accessed(memory, access) for memory in self._by_id(query, [access.item_id])]
                items.put(query, _COLLECTION, [_document(self._user_id, memory) for memory in found])

        await self._transaction.write(work)

    def _by_id(self, query: Query, memory_ids: Sequence[str]) -> list[TypedMemory]:
        return items.by_id(query, _COLLECTION, TypedMemory, self._user_id, memory_ids)


def _document(user_id: str, memory: TypedMemory) -> Document:
    return {
        "_key": key_of(user_id, memory.memory_id),
        "order": order_of(memory.memory_id),
        "type": ascii_of(memory.entity_type),
        "status": memory.status.value,
        "body": memory.model_dump_json(),
    }
