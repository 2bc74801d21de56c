"""Sources of knowledge, with their versions, in ArangoDB."""

from base64 import b64decode, b64encode
from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import SourceRepository
from memory.values.documents.corpora import Source, SourceVersion
from memory.values.errors import KnowledgeNotFound

from ...shared.checks import check_owner
from ..engine import documents
from ..engine import knowledge_queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "knowledge_sources"
_VERSIONS = "source_versions"


class ArangoSources(ArangoRepository, SourceRepository):
    """The sources of one app; content is stored in base64, since documents are JSON."""

    @override
    async def get(self, source_ids: Sequence[str]) -> Sequence[Source]:
        return await self._get(Source, _COLLECTION, source_ids)

    @override
    async def page(self, corpus_id: str, *, after: str | None = None, limit: int) -> Sequence[Source]:
        start = None if after is None else order_of(after)
        corpus = key_of(self._user_id, corpus_id)
        return await self._values(Source, aql.SOURCES_PAGE, corpus=corpus, after=start, limit=max(limit, 0))

    @override
    async def save(self, source: Source) -> None:
        check_owner([source], self._user_id)
        document = {
            "_key": key_of(self._user_id, source.source_id),
            "order": order_of(source.source_id),
            "corpus": key_of(self._user_id, source.corpus_id),
            "body": source.model_dump_json(),
        }
        await self._transaction.write(lambda query: documents.put(query, _COLLECTION, [document]))

    @override
    async def delete(self, source_id: str) -> bool:
        def work(query: Query) -> bool:
            key = key_of(self._user_id, source_id)
            query(aql.REMOVE_SOURCE_VERSIONS, source=key)
            return bool(documents.remove(query, _COLLECTION, [key]))

        return await self._transaction.write(work)

    @override
    async def versions(self, source_id: str) -> Sequence[SourceVersion]:
        return await self._values(SourceVersion, aql.SOURCE_VERSIONS, source=key_of(self._user_id, source_id))

    @override
    async def add_version(self, version: SourceVersion, content: bytes) -> None:
        check_owner([version], self._user_id)
        document: Document = {
            "_key": self._key(version.source_id, version.version),
            "source": key_of(self._user_id, version.source_id),
            "version": version.version,
            "state": version.state.value,
            "body": version.model_dump_json(),
            "content": b64encode(content).decode("ascii"),
        }

        def work(query: Query) -> None:
            if not documents.existing(query, _VERSIONS, [document["_key"]]):
                documents.put(query, _VERSIONS, [document])

        await self._transaction.write(work)

    @override
    async def update_version(self, version: SourceVersion) -> None:
        check_owner([version], self._user_id)
        key = self._key(version.source_id, version.version)

        def work(query: Query) -> None:
            body = version.model_dump_json()
            if not query(aql.UPDATE_SOURCE_VERSION, key=key, state=version.state.value, body=body):
                raise KnowledgeNotFound(f"The source {version.source_id!r} has no version {version.version}.")

        await self._transaction.write(work)

    @override
    async def content(self, source_id: str, version: int) -> bytes | None:
        key = self._key(source_id, version)
        found = await self._transaction.read(lambda query: query(aql.SOURCE_CONTENT, key=key))
        return b64decode(found[0]) if found else None

    def _key(self, source_id: str, version: int) -> str:
        return key_of(self._user_id, source_id, str(version))
