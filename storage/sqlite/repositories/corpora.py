"""Corpora and the versions of their configuration in SQLite."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import Corpora, CorpusRepository
from memory.values.documents.corpora import ConfigVersion, Corpus
from memory.values.errors import CorpusNotFound

from ...shared.checks import check_owner
from ..engine.transaction import SqliteRepository

_BY_ID = "SELECT corpus_id, body FROM corpora WHERE user_id = ? AND corpus_id IN ({})"
_CREATE = "INSERT INTO corpora (user_id, corpus_id, name, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_UPDATE = "UPDATE corpora SET body = ?2 WHERE user_id = ?1 AND corpus_id = ?3 AND name = ?4"
_ADD_VERSION = """
    INSERT INTO corpus_versions (user_id, corpus_id, version, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_VERSIONS = "SELECT body FROM corpus_versions WHERE user_id = ? AND corpus_id = ? ORDER BY version DESC"


class SqliteCorpora(SqliteRepository, CorpusRepository):
    """The corpora of one app."""

    @override
    async def get(self, corpus_ids: Sequence[str]) -> Corpora:
        return await self._transaction.read(
            lambda connection: self._select_values(connection, Corpus, _BY_ID, corpus_ids)
        )

    @override
    async def create(self, corpus: Corpus) -> bool:
        check_owner([corpus], self._user_id)
        return bool(await self._change(_CREATE, corpus.corpus_id, corpus.name, corpus.model_dump_json()))

    @override
    async def update(self, corpus: Corpus) -> None:
        check_owner([corpus], self._user_id)
        if not await self._change(_UPDATE, corpus.model_dump_json(), corpus.corpus_id, corpus.name):
            raise CorpusNotFound(f"There is no corpus {corpus.corpus_id!r}.")

    @override
    async def list(self) -> Corpora:
        return await self._values(Corpus, "SELECT body FROM corpora WHERE user_id = ? ORDER BY name")

    @override
    async def delete(self, corpus_id: str) -> bool:
        await self._change("DELETE FROM corpus_versions WHERE user_id = ? AND corpus_id = ?", corpus_id)
        return bool(await self._change("DELETE FROM corpora WHERE user_id = ? AND corpus_id = ?", corpus_id))

    @override
    async def add_version(self, version: ConfigVersion) -> None:
        check_owner([version], self._user_id)
        await self._change(_ADD_VERSION, version.corpus_id, version.version, version.model_dump_json())

    @override
    async def versions(self, corpus_id: str) -> Sequence[ConfigVersion]:
        return await self._values(ConfigVersion, _VERSIONS, corpus_id)
