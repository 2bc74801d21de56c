"""Corpora, their sources and chunks in memory."""

from collections.abc import Sequence

from typing_extensions import override

from memory.ports.stores.corpora import Corpora, CorpusRepository, KnowledgeRepository, SourceRepository
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import ConfigVersion, Corpus, Knowledge, Source, SourceVersion
from memory.values.errors import CorpusNotFound, KnowledgeNotFound

from ...shared.checks import check_owner
from .state import InMemoryRepository, delete_by_id, existing, page_of


class InMemoryCorpora(InMemoryRepository, CorpusRepository):
    """The corpora of one app."""

    @override
    async def get(self, corpus_ids: Sequence[str]) -> Corpora:
        return existing(self._state.readable.corpora, corpus_ids)

    @override
    async def create(self, corpus: Corpus) -> bool:
        check_owner([corpus], self._state.user_id)
        corpora = self._state.writable.corpora
        if corpus.corpus_id in corpora or any(corpus.name == other.name for other in corpora.values()):
            return False
        corpora[corpus.corpus_id] = corpus
        return True

    @override
    async def update(self, corpus: Corpus) -> None:
        check_owner([corpus], self._state.user_id)
        corpora = self._state.writable.corpora
        known = corpora.get(corpus.corpus_id)
        if known is None or known.name != corpus.name:
            raise CorpusNotFound(f"There is no corpus {corpus.corpus_id!r}.")
        corpora[corpus.corpus_id] = corpus

    @override
    async def list(self) -> Corpora:
        return sorted(self._state.readable.corpora.values(), key=lambda corpus: corpus.name)

    @override
    async def delete(self, corpus_id: str) -> bool:
        data = self._state.writable
        delete_by_id(data.corpus_versions, [key for key in data.corpus_versions if key[0] == corpus_id])
        return bool(delete_by_id(data.corpora, [corpus_id]))

    @override
    async def add_version(self, version: ConfigVersion) -> None:
        check_owner([version], self._state.user_id)
        self._state.writable.corpus_versions.setdefault((version.corpus_id, version.version), version)

    @override
    async def versions(self, corpus_id: str) -> Sequence[ConfigVersion]:
        versions = self._state.readable.corpus_versions.values()
        found = [version for version in versions if version.corpus_id == corpus_id]
        return sorted(found, key=lambda version: -version.version)


class InMemorySources(InMemoryRepository, SourceRepository):
    """The sources of one app."""

    @override
    async def get(self, source_ids: Sequence[str]) -> Sequence[Source]:
        return existing(self._state.readable.sources, source_ids)

    @override
    async def page(self, corpus_id: str, *, after: str | None = None, limit: int) -> Sequence[Source]:
        sources = self._state.readable.sources.items()
        return page_of({id_: source for id_, source in sources if source.corpus_id == corpus_id}, after, limit)

    @override
    async def save(self, source: Source) -> None:
        check_owner([source], self._state.user_id)
        self._state.writable.sources[source.source_id] = source

    @override
    async def delete(self, source_id: str) -> bool:
        data = self._state.writable
        keys = [key for key in data.source_versions if key[0] == source_id]
        delete_by_id(data.source_versions, keys)
        delete_by_id(data.source_contents, keys)
        return bool(delete_by_id(data.sources, [source_id]))

    @override
    async def versions(self, source_id: str) -> Sequence[SourceVersion]:
        versions = self._state.readable.source_versions.values()
        found = [version for version in versions if version.source_id == source_id]
        return sorted(found, key=lambda version: -version.version)

    @override
    async def add_version(self, version: SourceVersion, content: bytes) -> None:
        check_owner([version], self._state.user_id)
        data, key = self._state.writable, (version.source_id, version.version)
        data.source_versions.setdefault(key, version)
        data.source_contents.setdefault(key, content)

    @override
    async def update_version(self, version: SourceVersion) -> None:
        check_owner([version], self._state.user_id)
        versions, key = self._state.writable.source_versions, (version.source_id, version.version)
        if key not in versions:
            raise KnowledgeNotFound(f"The source {version.source_id!r} has no version {version.version}.")
        versions[key] = version

    @override
    async def content(self, source_id: str, version: int) -> bytes | None:
        return self._state.readable.source_contents.get((source_id, version))


class InMemoryKnowledge(InMemoryRepository, KnowledgeRepository):
    """The chunks of one app."""

    @override
    async def get(self, knowledge_ids: Sequence[str]) -> Sequence[Knowledge]:
        return existing(self._state.readable.knowledge, knowledge_ids)

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Sequence[Knowledge]:
        return page_of(self._state.readable.knowledge, after, limit)

    @override
    async def save(self, chunks: Sequence[Knowledge]) -> int:
        check_owner(chunks, self._state.user_id)
        knowledge = self._state.writable.knowledge
        new = {chunk.knowledge_id: chunk for chunk in chunks if chunk.knowledge_id not in knowledge}
        knowledge |= new
        self._state.queue(Collection.KNOWLEDGE, new)
        return len(new)

    @override
    async def ids(self, source_id: str, *, version: int | None = None, limit: int | None = None) -> Sequence[str]:
        found = sorted(
            (chunk.version, chunk.chunk_index, chunk.knowledge_id)
            for chunk in self._state.readable.knowledge.values()
            if chunk.source_id == source_id and version in (None, chunk.version)
        )
        return [knowledge_id for _, _, knowledge_id in found][: None if limit is None else max(limit, 0)]

    @override
    async def requeue(self, knowledge_ids: Sequence[str]) -> None:
        self._state.queue(Collection.KNOWLEDGE, knowledge_ids)

    @override
    async def delete(self, knowledge_ids: Sequence[str]) -> int:
        deleted = delete_by_id(self._state.writable.knowledge, knowledge_ids)
        self._state.queue(Collection.KNOWLEDGE, deleted)
        return len(deleted)

    @override
    async def count(self, corpus_id: str) -> int:
        return sum(chunk.corpus_id == corpus_id for chunk in self._state.readable.knowledge.values())
