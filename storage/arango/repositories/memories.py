"""Memories in ArangoDB."""

import json
from collections.abc import Mapping, Sequence

from more_itertools import chunked
from typing_extensions import override

from memory.ports.repositories import Access, MemoryRepository
from memory.ports.vectors import Collection
from memory.values.records import Memory

from ...shared.changes import accessed
from ...shared.checks import check_owner
from ...shared.timestamps import microseconds
from ..engine import items as items
from ..engine import queries as aql
from ..engine.documents import Document, ascii_of, key_of, order_of
from ..engine.transaction import ArangoTransaction, Query

_COLLECTION = "memories"
_CHUNK = 1000


class ArangoMemories(MemoryRepository):
    """The memories of one user."""

    def __init__(self, transaction: ArangoTransaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        return await self._transaction.read(
            lambda query: items.by_id(query, _COLLECTION, Memory, self._user_id, memory_ids)
        )

    @override
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        session = None if session_id is None else ascii_of(session_id)
        return await self._transaction.read(
            lambda query: items.values(Memory, query(aql.RECENT_MEMORIES, session=session, limit=max(limit, 0)))
        )

    @override
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        ids = {key_of(self._user_id, one): one for one in memory_ids}

        def work(query: Query) -> dict[str, str]:
            rows = [row for keys in chunked(ids, _CHUNK) for row in query(aql.PREVIOUS_MEMORIES, keys=keys)]
            return {ids[key]: Memory.model_validate_json(body).memory_id for key, body in rows}

        return await self._transaction.read(work)

    @override
    async def mentioning(self, entity_id: str) -> list[Memory]:
        written = json.dumps(entity_id, ensure_ascii=False)

        def work(query: Query) -> list[Memory]:
            memories = items.values(Memory, query(aql.MEMORIES_WITH, text=written))
            return [memory for memory in memories if entity_id in memory.entity_ids]

        return await self._transaction.read(work)

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        return await self._transaction.read(
            lambda query: items.values(Memory, items.page(query, _COLLECTION, after=after, limit=limit))
        )

    @override
    async def save(self, memories: Sequence[Memory]) -> None:
        check_owner(memories, self._user_id)
        latest = {memory.memory_id: memory for memory in memories}

        def work(query: Query) -> None:
            documents = [_document(self._user_id, memory) for memory in latest.values()]
            items.put_in_place(self._transaction, query, _COLLECTION, documents)
            items.queue(self._transaction, query, Collection.MEMORIES, latest)

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            return len(items.delete(self._transaction, query, _COLLECTION, Collection.MEMORIES, memory_ids))

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            for access in accesses:
                found = items.by_id(query, _COLLECTION, Memory, self._user_id, [access.item_id])
                documents = [_document(self._user_id, accessed(memory, access)) for memory in found]
                items.put_in_place(self._transaction, query, _COLLECTION, documents)

        await self._transaction.write(work)


def _document(user_id: str, memory: Memory) -> Document:
    return {
        "_key": key_of(user_id, memory.memory_id),
        "order": order_of(memory.memory_id),
        "session": ascii_of(memory.session_id),
        "source": key_of(user_id, memory.resource_id),
        "created_us": microseconds(memory.created_at),
        "body": memory.model_dump_json(),
    }
