"""Corpora and the versions of their configuration in ArangoDB."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import Corpora, CorpusRepository
from memory.values.documents.corpora import ConfigVersion, Corpus
from memory.values.errors import CorpusNotFound

from ...shared.checks import check_owner
from ..engine import documents
from ..engine import knowledge_queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of, order_of
from ..engine.transaction import Query

_COLLECTION = "corpora"
_VERSIONS = "corpus_versions"


class ArangoCorpora(ArangoRepository, CorpusRepository):
    """The corpora of one app."""

    @override
    async def get(self, corpus_ids: Sequence[str]) -> Corpora:
        return await self._get(Corpus, _COLLECTION, corpus_ids)

    @override
    async def create(self, corpus: Corpus) -> bool:
        check_owner([corpus], self._user_id)

        def work(query: Query) -> bool:
            known = documents.parse(Corpus, query(aql.CORPORA))
            if any(corpus.corpus_id == other.corpus_id or corpus.name == other.name for other in known):
                return False
            documents.put(query, _COLLECTION, [self._document(corpus)])
            return True

        return await self._transaction.write(work)

    @override
    async def update(self, corpus: Corpus) -> None:
        check_owner([corpus], self._user_id)

        def work(query: Query) -> None:
            known = documents.by_id(query, _COLLECTION, Corpus, self._user_id, [corpus.corpus_id])
            if not known or known[0].name != corpus.name:
                raise CorpusNotFound(f"There is no corpus {corpus.corpus_id!r}.")
            documents.put(query, _COLLECTION, [self._document(corpus)])

        await self._transaction.write(work)

    @override
    async def list(self) -> Corpora:
        return sorted(await self._values(Corpus, aql.CORPORA), key=lambda corpus: corpus.name)

    @override
    async def delete(self, corpus_id: str) -> bool:
        def work(query: Query) -> bool:
            query(aql.REMOVE_CORPUS_VERSIONS, corpus=key_of(self._user_id, corpus_id))
            return bool(documents.remove(query, _COLLECTION, [key_of(self._user_id, corpus_id)]))

        return await self._transaction.write(work)

    @override
    async def add_version(self, version: ConfigVersion) -> None:
        check_owner([version], self._user_id)
        document: Document = {
            "_key": key_of(self._user_id, version.corpus_id, str(version.version)),
            "corpus": key_of(self._user_id, version.corpus_id),
            "version": version.version,
            "body": version.model_dump_json(),
        }

        def work(query: Query) -> None:
            if not documents.existing(query, _VERSIONS, [document["_key"]]):
                documents.put(query, _VERSIONS, [document])

        await self._transaction.write(work)

    @override
    async def versions(self, corpus_id: str) -> Sequence[ConfigVersion]:
        return await self._values(ConfigVersion, aql.CORPUS_VERSIONS, corpus=key_of(self._user_id, corpus_id))

    def _document(self, corpus: Corpus) -> Document:
        return {
            "_key": key_of(self._user_id, corpus.corpus_id),
            "order": order_of(corpus.corpus_id),
            "body": corpus.model_dump_json(),
        }
