"""Builds one version of a source: reads it, cuts it, embeds it, and then has it found (004 §5.1).

Every step can be repeated. Ids of chunks are derived from app, corpus, source, version and index, so that nothing is
stored twice; a chunk whose vector is in the index is not embedded again. A version is found from the moment on at which
all of it is indexed, and the version before it until then.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

import structlog
from more_itertools import chunked

from ..indexing.indexer import Indexer
from ..indexing.record_pages import waiting_ids
from ..ports.knowledge import DocumentParser, SentenceSimilarity
from ..ports.models.language import Priority
from ..ports.stores.record import SystemOfRecord, UnitOfWork
from ..ports.stores.vectors import Collection
from ..values.documents.corpora import Knowledge, Source, SourceState, SourceVersion
from ..values.documents.knowledge import Chunk, ParsedDocument
from ..values.ids import knowledge_id
from .chunking.chunker import chunk_document

_CHUNKS_AT_ONCE = 256
_BATCHES_AT_ONCE = 1
_log = structlog.get_logger(__name__)

Progress = Callable[[int, int], Awaitable[None]]
"""Takes the number of chunks that are indexed, and of all."""


class SourceGone(Exception):
    """The version does not wait any more: its source was deleted."""


@dataclass(frozen=True)
class Built:
    """A version that is ready: the number of its chunks, and of those that were stored now."""

    chunks: int
    stored: int


class SourceBuilder:
    """Builds versions of sources.

    Args:
        record: Stores sources and chunks.
        indexer: Embeds and indexes what is stored; in use by the learner, too.
        parser: Reads files.
        similarity: For semantic chunking; None where no model computes it.
        claimed: Owners whose backlog is indexed in bulk meanwhile: it is then only waited for.
        poll_s: Seconds between looks at such a backlog.
        now: The clock.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        indexer: Indexer,
        parser: DocumentParser,
        similarity: SentenceSimilarity | None,
        claimed: Callable[[], AbstractSet[str]],
        poll_s: float,
        now: Callable[[], datetime],
    ) -> None:
        self._record = record
        self._indexer = indexer
        self._parser = parser
        self._similarity = similarity
        self._claimed = claimed
        self._poll_s = poll_s
        self._now = now

    async def build(self, version: SourceVersion, progress: Progress) -> Built:
        """Builds a version that waits, from where an earlier attempt stopped.

        Raises:
            SourceGone: It does not wait any more.
            UnreadableDocumentError: The file cannot be read.
            EmbeddingFailed: Its chunks were not embedded, after retries.
            Unavailable: A store or model is down; the work so far is kept.
        """
        owner = version.user_id
        async with self._record.reading(user_id=owner) as unit:
            content = await unit.sources.content(version.source_id, version.version)
        if content is None:
            raise SourceGone
        document = await asyncio.to_thread(
            self._parser.parse, content, media_type=version.media_type, name=version.name
        )
        _log.info(
            "ingestion_started",
            corpus_id=version.corpus_id,
            app_name=version.app,
            text_length=sum(len(block.text) for block in document.blocks),
            source_uri=version.source_uri,
            chunk_size=version.chunking.chunk_size,
            overlap=version.chunking.overlap,
        )
        chunks = await chunk_document(document, version.chunking, similarity=self._similarity)
        _log.info("chunks_created", corpus_id=version.corpus_id, chunk_count=len(chunks))
        await self._begin(version)
        stored = await self._store(version, document, chunks)
        await self._index(version, progress)
        _log.info("embeddings_attached", corpus_id=version.corpus_id, chunk_count=len(chunks))
        await self._make_current(version, document, len(chunks))
        await self._indexer.index_without_encoding(user_id=owner)
        _log.info("ingestion_completed", corpus_id=version.corpus_id, record_count=len(chunks))
        return Built(chunks=len(chunks), stored=stored)

    async def give_up(self, version: SourceVersion, reason: str) -> None:
        """Records that a version failed; its chunks leave the index, and the current version stays."""
        async with self._record.writing(user_id=version.user_id) as unit:
            waiting = await _waiting_version(unit, version)
            if waiting is None:
                return
            [source] = await unit.sources.get([version.source_id])
            await unit.sources.save(source.model_copy(update={"building": None}))
            failed = {"state": SourceState.FAILED, "error": reason, "ended_at": self._now()}
            await unit.sources.update_version(waiting.model_copy(update=failed))
            await unit.knowledge.requeue(await unit.knowledge.ids(version.source_id, version=version.version))
            await unit.commit()

    async def _begin(self, version: SourceVersion) -> None:
        """Has the chunks of the version indexed beside those of the current one, also those stored before."""
        async with self._record.writing(user_id=version.user_id) as unit:
            source = await _source_of(unit, version)
            await unit.sources.save(source.model_copy(update={"building": version.version}))
            await unit.knowledge.requeue(await unit.knowledge.ids(version.source_id, version=version.version))
            await unit.commit()

    async def _store(self, version: SourceVersion, document: ParsedDocument, chunks: Sequence[Chunk]) -> int:
        stored = 0
        for portion in chunked(chunks, _CHUNKS_AT_ONCE):
            async with self._record.writing(user_id=version.user_id) as unit:
                await _source_of(unit, version)
                stored += await unit.knowledge.save([_knowledge(version, document, chunk) for chunk in portion])
                await unit.commit()
        return stored

    async def _index(self, version: SourceVersion, progress: Progress) -> None:
        owner = version.user_id
        async with self._record.reading(user_id=owner) as unit:
            ids = {*await unit.knowledge.ids(version.source_id, version=version.version)}
        while True:
            waiting = len(ids & await waiting_ids(self._record, owner, Collection.KNOWLEDGE))
            await progress(len(ids) - waiting, len(ids))
            if not waiting:
                return
            if owner in self._claimed():
                await asyncio.sleep(self._poll_s)
            else:
                await self._indexer.index(user_id=owner, priority=Priority.BATCH, batches=_BATCHES_AT_ONCE)

    async def _make_current(self, version: SourceVersion, document: ParsedDocument, count: int) -> None:
        now = self._now()
        async with self._record.writing(user_id=version.user_id) as unit:
            source = await _source_of(unit, version)
            current = {
                "title": document.title,
                "version": version.version,
                "building": None,
                "chunk_count": count,
                "metadata": version.metadata,
                "updated_at": now,
            }
            await unit.sources.save(source.model_copy(update=current))
            ready = {"state": SourceState.READY, "title": document.title, "chunk_count": count, "ended_at": now}
            await unit.sources.update_version(version.model_copy(update=ready))
            if source.version != version.version:
                await unit.knowledge.requeue(await unit.knowledge.ids(version.source_id, version=source.version))
            await unit.commit()


async def _waiting_version(unit: UnitOfWork, version: SourceVersion) -> SourceVersion | None:
    for known in await unit.sources.versions(version.source_id):
        if known.version == version.version and known.state is SourceState.PENDING:
            return known
    return None


async def _source_of(unit: UnitOfWork, version: SourceVersion) -> Source:
    """The source of a version that waits.

    Raises:
        SourceGone: It does not wait any more.
    """
    found = await unit.sources.get([version.source_id])
    if not found or await _waiting_version(unit, version) is None:
        raise SourceGone
    return found[0]


def _knowledge(version: SourceVersion, document: ParsedDocument, chunk: Chunk) -> Knowledge:
    return Knowledge(
        app=version.app,
        knowledge_id=knowledge_id(version.user_id, version.corpus_id, version.source_id, version.version, chunk.index),
        corpus_id=version.corpus_id,
        source_id=version.source_id,
        source_uri=version.source_uri,
        version=version.version,
        chunk_index=chunk.index,
        content=chunk.text,
        title=document.title,
        page=chunk.page,
        headings=chunk.headings,
        kind=chunk.kind,
        repeated=chunk.repeated,
        metadata=version.metadata,
        created_at=version.created_at,
    )
