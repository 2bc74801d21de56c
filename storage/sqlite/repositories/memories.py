"""Memories in SQLite."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.places import Place
from memory.ports.stores.repositories import Access, MemoryRepository
from memory.ports.stores.vectors import Collection
from memory.values.records import Memory

from ...shared.checks import check_aware, check_owner
from ...shared.stored_values import timestamp_us
from ..engine.transaction import SqliteRepository, after_clause, behind_clause, enqueue

_BY_ID = "SELECT memory_id, body FROM memories WHERE user_id = ? AND memory_id IN ({})"
_RECENT = "SELECT body FROM memories WHERE user_id = ? ORDER BY created_us DESC, rowid DESC LIMIT ?"
_RECENT_OF_SESSION = """
    SELECT body FROM memories WHERE user_id = ? AND session_id = ? ORDER BY created_us DESC, rowid DESC LIMIT ?
"""
_OLDEST = "SELECT body FROM memories WHERE user_id = ?{} ORDER BY created_us, rowid LIMIT ?"
_TIMELINE = "SELECT body FROM memories WHERE user_id = ?{} ORDER BY created_us DESC, memory_id LIMIT ?"
_PREVIOUS = """
    SELECT m.memory_id, (
        SELECT p.memory_id FROM memories p
        WHERE p.user_id = m.user_id AND p.session_id = m.session_id
        AND (p.created_us, p.rowid) < (m.created_us, m.rowid)
        ORDER BY p.created_us DESC, p.rowid DESC LIMIT 1
    ) FROM memories m WHERE m.user_id = ? AND m.memory_id IN ({})
"""
# Finds the id anywhere in the JSON text; the caller checks that it is among the entities.
_MENTIONING = "SELECT body FROM memories WHERE user_id = ? AND instr(body, ?) > 0 ORDER BY memory_id"
_SAVE = """
    INSERT INTO memories (user_id, memory_id, session_id, resource_id, created_us, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (user_id, memory_id) DO UPDATE SET session_id = excluded.session_id,
    resource_id = excluded.resource_id, created_us = excluded.created_us, body = excluded.body
"""
_REPLACE = "UPDATE memories SET body = ? WHERE user_id = ? AND memory_id = ?"
_DELETE = "DELETE FROM memories WHERE user_id = ? AND memory_id = ?"


class SqliteMemories(SqliteRepository, MemoryRepository):
    """The memories of one user."""

    @override
    async def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, Memory, _BY_ID, memory_ids)
        )

    @override
    async def recent(self, *, limit: int, session_id: str | None = None) -> list[Memory]:
        if session_id is None:
            return await self._values(Memory, _RECENT, max(limit, 0))
        return await self._values(Memory, _RECENT_OF_SESSION, session_id, max(limit, 0))

    @override
    async def previous(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        def work(connection: sqlite3.Connection) -> dict[str, str]:
            rows = self._select(connection, _PREVIOUS, memory_ids)
            return {memory_id: earlier for memory_id, earlier in rows if earlier is not None}

        return await self._transaction.read(work)

    @override
    async def mentioning(self, entity_id: str) -> list[Memory]:
        memories = await self._values(Memory, _MENTIONING, json.dumps(entity_id, ensure_ascii=False))
        return [memory for memory in memories if entity_id in memory.entity_ids]

    @override
    async def page(self, *, after: str | None = None, limit: int) -> list[Memory]:
        where, start = after_clause("memory_id", after)
        statement = f"SELECT body FROM memories WHERE user_id = ?{where} ORDER BY memory_id LIMIT ?"  # noqa: S608
        return await self._values(Memory, statement, *start, max(limit, 0))

    @override
    async def oldest(self, *, after: str | None = None, limit: int) -> list[Memory]:
        where, start = behind_clause("memories", "created_us", "memory_id", self._user_id, after)
        return await self._values(Memory, _OLDEST.format(where), *start, max(limit, 0))

    @override
    async def timeline(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        behind: Place | None = None,
        limit: int,
    ) -> list[Memory]:
        where, bind = "", list[object]()
        for condition, at, name in (("created_us >= ?", since, "since"), ("created_us < ?", until, "until")):
            if at is not None:
                where, bind = f"{where} AND {condition}", [*bind, timestamp_us(check_aware(at, name))]
        if behind is not None:
            created_us = timestamp_us(check_aware(behind[0], "behind"))
            where += " AND created_us <= ? AND (created_us < ? OR memory_id > ?)"
            bind += [created_us, created_us, behind[1]]
        return await self._values(Memory, _TIMELINE.format(where), *bind, max(limit, 0))

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
                        timestamp_us(memory.created_at),
                        memory.model_dump_json(),
                    )
                    for memory in memories
                ),
            )
            enqueue(connection, self._user_id, Collection.MEMORIES, (memory.memory_id for memory in memories))

        await self._transaction.write(work)

    @override
    async def delete(self, memory_ids: Sequence[str]) -> int:
        return await self._delete(_DELETE, memory_ids, Collection.MEMORIES)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        await self._count_accesses(Memory, _BY_ID, _REPLACE, accesses)
