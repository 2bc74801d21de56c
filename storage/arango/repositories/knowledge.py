"""The chunks of sources in ArangoDB."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import KnowledgeRepository
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import Knowledge

from ...shared.checks import check_owner
from ..engine import documents
from ..engine import knowledge_queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "knowledge"
_ALL = 2**31 - 1


class ArangoKnowledge(ArangoRepository, KnowledgeRepository):
    """The chunks of one app."""

    @override
    async def get(self, knowledge_ids: Sequence[str]) -> Sequence[Knowledge]:
        return await self._get(Knowledge, _COLLECTION, knowledge_ids)

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Sequence[Knowledge]:
        return await self._page(Knowledge, _COLLECTION, after=after, limit=limit)

    @override
    async def save(self, chunks: Sequence[Knowledge]) -> int:
        check_owner(chunks, self._user_id)
        by_key = {key_of(self._user_id, chunk.knowledge_id): chunk for chunk in chunks}

        def work(query: Query) -> int:
            known = documents.existing(query, _COLLECTION, by_key)
            new = [chunk for key, chunk in by_key.items() if key not in known]
            documents.put(query, _COLLECTION, [self._document(chunk) for chunk in new])
            ids = [chunk.knowledge_id for chunk in new]
            documents.enqueue(self._transaction, query, Collection.KNOWLEDGE, ids)
            return len(new)

        return await self._transaction.write(work)

    @override
    async def ids(self, source_id: str, *, version: int | None = None, limit: int | None = None) -> Sequence[str]:
        source = key_of(self._user_id, source_id)
        most = _ALL if limit is None else max(limit, 0)
        return await self._transaction.read(
            lambda query: [str(id_) for id_ in query(aql.KNOWLEDGE_IDS, source=source, version=version, limit=most)]
        )

    @override
    async def requeue(self, knowledge_ids: Sequence[str]) -> None:
        await self._transaction.write(
            lambda query: documents.enqueue(self._transaction, query, Collection.KNOWLEDGE, knowledge_ids)
        )

    @override
    async def delete(self, knowledge_ids: Sequence[str]) -> int:
        def work(query: Query) -> int:
            return len(documents.delete(self._transaction, query, _COLLECTION, Collection.KNOWLEDGE, knowledge_ids))

        return await self._transaction.write(work)

    @override
    async def count(self, corpus_id: str) -> int:
        corpus = key_of(self._user_id, corpus_id)
        return await self._transaction.read(lambda query: int(query(aql.COUNT_KNOWLEDGE, corpus=corpus)[0]))

    def _document(self, chunk: Knowledge) -> Document:
        return {
            "_key": key_of(self._user_id, chunk.knowledge_id),
            "order": order_of(chunk.knowledge_id),
            "id": chunk.knowledge_id,
            "corpus": key_of(self._user_id, chunk.corpus_id),
            "source": key_of(self._user_id, chunk.source_id),
            "version": chunk.version,
            "chunk_index": chunk.chunk_index,
            "body": chunk.model_dump_json(),
        }
