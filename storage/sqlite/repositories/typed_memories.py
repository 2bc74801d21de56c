"""Typed memories in SQLite."""

import sqlite3
from collections.abc import Sequence

from typing_extensions import override

from memory.ports.repositories import Access, TypedMemoryRepository
from memory.ports.vectors import Collection
from memory.values.typed_memories import MemoryStatus, TypedMemory

from ...shared.changes import accessed
from ...shared.checks import check_owner
from ..engine.outbox import queue
from ..engine.transaction import Transaction, select_by_id

_BY_ID = "SELECT memory_id, body FROM aam_memories WHERE user_id = ? AND memory_id IN ({})"
_SAVE = """
    INSERT INTO aam_memories (user_id, memory_id, entity_type, status, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (user_id, memory_id) DO UPDATE SET
    entity_type = excluded.entity_type, status = excluded.status, body = excluded.body
"""
_COUNT_ACCESS = "UPDATE aam_memories SET body = ? WHERE user_id = ? AND memory_id = ?"
_DELETE = "DELETE FROM aam_memories WHERE user_id = ? AND memory_id = ? RETURNING memory_id"


class SqliteTypedMemories(TypedMemoryRepository):
    """The typed memories of one user."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[TypedMemory]:
        return await self._transaction.read(lambda connection: self._by_id(connection, memory_ids))

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

        def work(connection: sqlite3.Connection) -> list[TypedMemory]:
            rows = connection.execute(statement, (self._user_id, *given.values(), max(limit, 0)))
            return [TypedMemory.model_validate_json(body) for (body,) in rows]

        return await self._transaction.read(work)

    @override
    async def save(self, memories: Sequence[TypedMemory]) -> None:
        check_owner(memories, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                _SAVE,
                (
                    (self._user_id, one.memory_id, one.entity_type, one.status.value, one.model_dump_json())
                    for one in memories
                ),
            )
            queue(connection, self._user_id, Collection.TYPED_MEMORIES, (one.memory_id for one in memories))

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            gone = [
                there
                for memory_id in memory_ids
                for (there,) in connection.execute(_DELETE, (self._user_id, memory_id)).fetchall()
            ]
            queue(connection, self._user_id, Collection.TYPED_MEMORIES, gone)
            return len(gone)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for access in accesses:
                for memory in self._by_id(connection, [access.item_id]):
                    body = accessed(memory, access).model_dump_json()
                    connection.execute(_COUNT_ACCESS, (body, self._user_id, access.item_id))

        await self._transaction.write(work)

    def _by_id(self, connection: sqlite3.Connection, memory_ids: Sequence[str]) -> list[TypedMemory]:
        rows = select_by_id(connection, _BY_ID, self._user_id, memory_ids)
        found = {memory_id: TypedMemory.model_validate_json(body) for memory_id, body in rows}
        return [found[memory_id] for memory_id in memory_ids if memory_id in found]
