"""The chunks of sources in SQLite."""

import sqlite3
from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import KnowledgeRepository
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import Knowledge

from ...shared.checks import check_owner
from ..engine.transaction import SqliteRepository, after_clause, enqueue

_BY_ID = "SELECT knowledge_id, body FROM knowledge WHERE user_id = ? AND knowledge_id IN ({})"
_CREATE = """
    INSERT INTO knowledge (user_id, knowledge_id, corpus_id, source_id, version, chunk_index, body)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_IDS = """
    SELECT knowledge_id FROM knowledge WHERE user_id = ?1 AND source_id = ?2 AND (?3 IS NULL OR version = ?3)
    ORDER BY version, chunk_index LIMIT ?4
"""
_DELETE = "DELETE FROM knowledge WHERE user_id = ? AND knowledge_id = ?"
_ALL = -1


class SqliteKnowledge(SqliteRepository, KnowledgeRepository):
    """The chunks of one app."""

    @override
    async def get(self, knowledge_ids: Sequence[str]) -> Sequence[Knowledge]:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, Knowledge, _BY_ID, knowledge_ids)
        )

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Sequence[Knowledge]:
        where, start = after_clause("knowledge_id", after)
        statement = f"SELECT body FROM knowledge WHERE user_id = ?{where} ORDER BY knowledge_id LIMIT ?"  # noqa: S608
        return await self._values(Knowledge, statement, *start, max(limit, 0))

    @override
    async def save(self, chunks: Sequence[Knowledge]) -> int:
        check_owner(chunks, self._user_id)

        def work(connection: sqlite3.Connection) -> int:
            new = [
                chunk.knowledge_id
                for chunk in chunks
                if connection.execute(_CREATE, (self._user_id, *_row(chunk))).rowcount
            ]
            enqueue(connection, self._user_id, Collection.KNOWLEDGE, new)
            return len(new)

        return await self._transaction.write(work)

    @override
    async def ids(self, source_id: str, *, version: int | None = None, limit: int | None = None) -> Sequence[str]:
        rows = await self._rows(_IDS, source_id, version, _ALL if limit is None else max(limit, 0))
        return [knowledge_id for (knowledge_id,) in rows]

    @override
    async def requeue(self, knowledge_ids: Sequence[str]) -> None:
        await self._transaction.write(
            lambda connection: enqueue(connection, self._user_id, Collection.KNOWLEDGE, knowledge_ids)
        )

    @override
    async def delete(self, knowledge_ids: Sequence[str]) -> int:
        return await self._delete(_DELETE, knowledge_ids, Collection.KNOWLEDGE)

    @override
    async def count(self, corpus_id: str) -> int:
        return await self._count("SELECT count(*) FROM knowledge WHERE user_id = ? AND corpus_id = ?", corpus_id)


def _row(chunk: Knowledge) -> tuple[object, ...]:
    place = (chunk.corpus_id, chunk.source_id, chunk.version, chunk.chunk_index)
    return (chunk.knowledge_id, *place, chunk.model_dump_json())
