"""Memories in SQLite."""

import json
import sqlite3
from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.repositories import Access, MemoryRepository
from memory.ports.vectors import Collection
from memory.values.records import Memory

from ...shared.changes import accessed
from ...shared.checks import check_owner
from ...shared.timestamps import microseconds
from ..engine.outbox import queue
from ..engine.transaction import Transaction, after_clause, select_by_id

_RECENT = "SELECT body FROM memories WHERE user_id = ? ORDER BY created_us DESC, rowid DESC LIMIT ?"
_RECENT_OF_SESSION = """
    SELECT body FROM memories WHERE user_id = ? AND session_id = ? ORDER BY created_us DESC, rowid DESC LIMIT ?
"""
_PREVIOUS = """
    SELECT m.memory_id, (
        SELECT p.memory_id FROM memories p
        WHERE p.user_id = m.user_id AND p.session_id = m.session_id
        AND (p.created_us, p.rowid) < (m.created_us, m.rowid)
        ORDER BY p.created_us DESC, p.rowid DESC LIMIT 1
    ) FROM memories m WHERE m.user_id = ? AND m.memory_id IN ({})
"""
# Finds the id anywhere in the row; whoever reads the row sees whether it is among the entities.
_MENTIONING = "SELECT body FROM memories WHERE user_id = ? AND instr(body, ?) > 0 ORDER BY memory_id"
_SAVE = """
    INSERT INTO memories (user_id, memory_id, session_id, resource_id, created_us, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id, memory_id) DO UPDATE SET session_id = excluded.session_id,
    resource_id = excluded.resource_id, created_us = excluded.created_us, body = excluded.body
"""


class SqliteMemories(MemoryRepository):
    """The memories of one user."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        return await self._transaction.read(lambda connection: self._by_id(connection, memory_ids))

    @override
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        which = (self._user_id,) if session_id is None else (self._user_id, session_id)
        statement = _RECENT if session_id is None else _RECENT_OF_SESSION

        def work(connection: sqlite3.Connection) -> list[Memory]:
            rows = connection.execute(statement, (*which, max(limit, 0)))
            return [Memory.model_validate_json(body) for (body,) in rows]

        return await self._transaction.read(work)

    @override
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        def work(connection: sqlite3.Connection) -> dict[str, str]:
            rows = select_by_id(connection, _PREVIOUS, self._user_id, memory_ids)
            return {memory_id: earlier for memory_id, earlier in rows if earlier is not None}

        return await self._transaction.read(work)

    @override
    async def mentioning(self, entity_id: str) -> list[Memory]:
        def work(connection: sqlite3.Connection) -> list[Memory]:
            rows = connection.execute(_MENTIONING, (self._user_id, json.dumps(entity_id, ensure_ascii=False)))
            memories = [Memory.model_validate_json(body) for (body,) in rows]
            return [memory for memory in memories if entity_id in memory.entity_ids]

        return await self._transaction.read(work)

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        where, start = after_clause("memory_id", after)
        statement = f"SELECT body FROM memories WHERE user_id = ?{where} ORDER BY memory_id LIMIT ?"  # noqa: S608

        def work(connection: sqlite3.Connection) -> list[Memory]:
            rows = connection.execute(statement, (self._user_id, *start, max(limit, 0)))
            return [Memory.model_validate_json(body) for (body,) in rows]

        return await self._transaction.read(work)

    @override
    async def save(self, memories: Sequence[Memory]) -> None:
        check_owner(memories, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            connection.executemany(
                _SAVE,
                (
                    (
                        memory.user_id,
                        memory.memory_id,
                        memory.session_id,
                        memory.resource_id,
                        microseconds(memory.created_at),
                        memory.model_dump_json(),
                    )
                    for memory in memories
                ),
            )
            queue(connection, self._user_id, Collection.MEMORIES, (memory.memory_id for memory in memories))

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        statement = "DELETE FROM memories WHERE user_id = ? AND memory_id = ? RETURNING memory_id"

        def work(connection: sqlite3.Connection) -> int:
            gone = [
                there
                for memory_id in memory_ids
                for (there,) in connection.execute(statement, (self._user_id, memory_id)).fetchall()
            ]
            queue(connection, self._user_id, Collection.MEMORIES, gone)
            return len(gone)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        statement = "UPDATE memories SET body = ? WHERE user_id = ? AND memory_id = ?"

        def work(connection: sqlite3.Connection) -> None:
            for access in accesses:
                for memory in self._by_id(connection, [access.item_id]):
                    body = accessed(memory, access).model_dump_json()
                    connection.execute(statement, (body, self._user_id, access.item_id))

        await self._transaction.write(work)

    def _by_id(self, connection: sqlite3.Connection, memory_ids: Sequence[str]) -> list[Memory]:
        statement = "SELECT memory_id, body FROM memories WHERE user_id = ? AND memory_id IN ({})"
        rows = select_by_id(connection, statement, self._user_id, memory_ids)
        found = {memory_id: Memory.model_validate_json(body) for memory_id, body in rows}
        return [found[memory_id] for memory_id in memory_ids if memory_id in found]
