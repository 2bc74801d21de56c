"""Typed memories in SQLite."""

import sqlite3
from collections.abc import Sequence

from typing_extensions import override

from memory.ports.repositories import Access, TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ...shared.checks import check_owner
from ..engine.transaction import SqliteRepository, enqueue

_BY_ID = "SELECT memory_id, body FROM aam_memories WHERE user_id = ? AND memory_id IN ({})"
_SAVE = """
    INSERT INTO aam_memories (user_id, memory_id, entity_type, status, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, memory_id) DO UPDATE SET
    entity_type = excluded.entity_type, status = excluded.status, body = excluded.body
"""
_REPLACE = "UPDATE aam_memories SET body = ? WHERE user_id = ? AND memory_id = ?"
_DELETE = "DELETE FROM aam_memories WHERE user_id = ? AND memory_id = ?"


class SqliteTypedMemories(SqliteRepository, TypedMemoryRepository):
    """The typed memories of one user."""

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, TypedMemory, _BY_ID, memory_ids)
        )

    @override
    async def page(
        self,
        *,
        after: str | None = None,
        limit: int,
        entity_type: str | None = None,
        status: MemoryStatus | None = None,
    ) -> list[TypedMemory]:
        conditions = {"memory_id > ?": after, "entity_type = ?": entity_type, "status = ?": status and status.value}
        given = {condition: value for condition, value in conditions.items() if value is not None}
        where = " AND ".join(["user_id = ?", *given])
        statement = f"SELECT body FROM aam_memories WHERE {where} ORDER BY memory_id LIMIT ?"  # noqa: S608
        return await self._values(TypedMemory, statement, *given.values(), max(limit, 0))

    @override
    async def save(self, memories: Sequence[TypedMemory]) -> None:
        check_owner(memories, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                _SAVE,
                (
                    (self._user_id, memory.memory_id, memory.entity_type, memory.status.value, memory.model_dump_json())
                    for memory in memories
                ),
            )
            enqueue(connection, self._user_id, Collection.TYPED_MEMORIES, (memory.memory_id for memory in memories))

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        return await self._delete(_DELETE, memory_ids, Collection.TYPED_MEMORIES)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        await self._count_accesses(TypedMemory, _BY_ID, _REPLACE, accesses)
