"""Memories in ArangoDB."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from more_itertools import chunked
from typing_extensions import override

from memory.ports.stores.places import Place
from memory.ports.stores.repositories import Access, MemoryRepository
from memory.ports.stores.vectors import Collection
from memory.values.records import Memory

from ...shared.checks import check_aware, check_owner
from ...shared.stored_values import timestamp_us
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, ascii_of, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "memories"
_CHUNK = 1000
_LAST_US = 2**60
"""Later than any time that Python has."""


class ArangoMemories(ArangoRepository, MemoryRepository):
    """The memories of one user."""

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        return await self._get(Memory, _COLLECTION, memory_ids)

    @override
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        session = None if session_id is None else ascii_of(session_id)
        return await self._values(Memory, aql.RECENT_MEMORIES, session=session, limit=max(limit, 0))

    @override
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        ids = {key_of(self._user_id, memory_id): memory_id for memory_id in memory_ids}

        def work(query: Query) -> dict[str, str]:
            rows = [row for keys in chunked(list(ids), _CHUNK) for row in query(aql.PREVIOUS_MEMORIES, keys=keys)]
            return {ids[key]: Memory.model_validate_json(body).memory_id for key, body in rows}

        return await self._transaction.read(work)

    @override
    async def mentioning(self, entity_id: str) -> list[Memory]:
        encoded_id = json.dumps(entity_id, ensure_ascii=False)
        memories = await self._values(Memory, aql.MEMORIES_WITH, text=encoded_id)
        return [memory for memory in memories if entity_id in memory.entity_ids]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        return await self._page(Memory, _COLLECTION, after=after, limit=limit)

    @override
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Memory]:
        return await self._page_behind(Memory, aql.OLDEST_MEMORIES, place=aql.MEMORY_PLACE, after=after, limit=limit)

    @override
    async def timeline(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        behind: Place | None = None,
        limit: int,
    ) -> list[Memory]:
        at, after = (_LAST_US, "") if behind is None else (_microseconds(behind[0], "behind"), order_of(behind[1]))
        return await self._values(
            Memory,
            aql.TIMELINE,
            since=-_LAST_US if since is None else _microseconds(since, "since"),
            until=_LAST_US if until is None else _microseconds(until, "until"),
            at=at,
            order=after,
            limit=max(limit, 0),
        )

    @override
    async def save(self, memories: Sequence[Memory]) -> None:
        check_owner(memories, self._user_id)
        latest = {memory.memory_id: memory for memory in memories}

        def work(query: Query) -> None:
            saved = [_document(self._user_id, memory) for memory in latest.values()]
            documents.put_in_sequence(self._transaction, query, _COLLECTION, saved)
            documents.enqueue(self._transaction, query, Collection.MEMORIES, latest)

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            return len(documents.delete(self._transaction, query, _COLLECTION, Collection.MEMORIES, memory_ids))

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(query: Query) -> None:
            memories = documents.accessed_by_id(query, _COLLECTION, Memory, self._user_id, accesses)
            changed = [_document(self._user_id, memory) for memory in memories]
            documents.put_in_sequence(self._transaction, query, _COLLECTION, changed)

        await self._transaction.write(work)


def _microseconds(at: datetime, name: str) -> int:
    return timestamp_us(check_aware(at, name))


def _document(user_id: str, memory: Memory) -> Document:
    return {
        "_key": key_of(user_id, memory.memory_id),
        "order": order_of(memory.memory_id),
        "session": ascii_of(memory.session_id),
        "source": key_of(user_id, memory.resource_id),
        "created_us": timestamp_us(memory.created_at),
        "body": memory.model_dump_json(),
    }
