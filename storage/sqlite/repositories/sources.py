"""Sources of knowledge, with their versions, in SQLite."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import SourceRepository
from memory.values.documents.corpora import Source, SourceVersion
from memory.values.errors import KnowledgeNotFound

from ...shared.checks import check_owner
from ..engine.transaction import SqliteRepository, after_clause

_BY_ID = "SELECT source_id, body FROM knowledge_sources WHERE user_id = ? AND source_id IN ({})"
_SAVE = """
    INSERT INTO knowledge_sources (user_id, source_id, corpus_id, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (user_id, source_id) DO UPDATE SET corpus_id = excluded.corpus_id, body = excluded.body
"""
_DELETE = "DELETE FROM knowledge_sources WHERE user_id = ? AND source_id = ?"
_DELETE_VERSIONS = "DELETE FROM source_versions WHERE user_id = ? AND source_id = ?"
_VERSIONS = "SELECT body FROM source_versions WHERE user_id = ? AND source_id = ? ORDER BY version DESC"
_ADD_VERSION = """
    INSERT INTO source_versions (user_id, source_id, version, state, body, content) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING
"""
_UPDATE_VERSION = """
    UPDATE source_versions SET state = ?2, body = ?3 WHERE user_id = ?1 AND source_id = ?4 AND version = ?5
"""
_CONTENT = "SELECT content FROM source_versions WHERE user_id = ? AND source_id = ? AND version = ?"


class SqliteSources(SqliteRepository, SourceRepository):
    """The sources of one app."""

    @override
    async def get(self, source_ids: Sequence[str]) -> Sequence[Source]:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, Source, _BY_ID, source_ids)
        )

    @override
    async def page(self, corpus_id: str, *, after: str | None = None, limit: int) -> Sequence[Source]:
        where, start = after_clause("source_id", after)
        statement = f"""
            SELECT body FROM knowledge_sources WHERE user_id = ? AND corpus_id = ?{where} ORDER BY source_id LIMIT ?
        """  # noqa: S608
        return await self._values(Source, statement, corpus_id, *start, max(limit, 0))

    @override
    async def save(self, source: Source) -> None:
        check_owner([source], self._user_id)
        await self._change(_SAVE, source.source_id, source.corpus_id, source.model_dump_json())

    @override
    async def delete(self, source_id: str) -> bool:
        await self._change(_DELETE_VERSIONS, source_id)
        return bool(await self._change(_DELETE, source_id))

    @override
    async def versions(self, source_id: str) -> Sequence[SourceVersion]:
        return await self._values(SourceVersion, _VERSIONS, source_id)

    @override
    async def add_version(self, version: SourceVersion, content: bytes) -> None:
        check_owner([version], self._user_id)
        row = (version.source_id, version.version, version.state.value, version.model_dump_json(), content)
        await self._change(_ADD_VERSION, *row)

    @override
    async def update_version(self, version: SourceVersion) -> None:
        check_owner([version], self._user_id)
        row = (version.state.value, version.model_dump_json(), version.source_id, version.version)
        if not await self._change(_UPDATE_VERSION, *row):
            raise KnowledgeNotFound(f"The source {version.source_id!r} has no version {version.version}.")

    @override
    async def content(self, source_id: str, version: int) -> bytes | None:
        rows = await self._rows(_CONTENT, source_id, version)
        return bytes(rows[0][0]) if rows else None
