"""The knowledge base over a record and an index in memory, with an encoder that remembers what it read."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from typing_extensions import override

from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.jobs.desk import RunDesk, RunKind
from memory.jobs.runs import Heartbeat
from memory.knowledge.building import SourceBuilder
from memory.knowledge.corpora import Corpora
from memory.knowledge.ingestion import Ingestion
from memory.knowledge.search import KnowledgeSearch
from memory.knowledge.similarity import EncodedSimilarity
from memory.knowledge.sources import PIPELINE, NewDocument, Sources
from memory.language.keywords import KeywordAnalyzer
from memory.ports.jobs import PipelineRun
from memory.ports.models.language import Encoder, FloatMatrix, Priority, Reranker, TextKind
from memory.ports.stores.vectors import Collection
from memory.values.access.identity import app_owner
from memory.values.documents.corpora import (
    Corpus,
    CorpusConfig,
    Knowledge,
    KnowledgeQuery,
    KnowledgeResult,
    Reranking,
    SearchConfig,
    SourceVersion,
)
from storage.inmemory.record import InMemoryRecord
from storage.inmemory.vectors import InMemoryVectors
from testing.fakes.document_parser import FakeParser
from testing.fakes.encoder import FakeEncoder

APP = "shop"
OWNER = app_owner(APP)
DIMENSION = 64
HEARTBEAT = Heartbeat(beat_s=0.02)
SMALL = CorpusConfig.model_validate({"chunking": {"chunk_size": 80, "overlap": 0}})


async def do_nothing() -> None:
    """What an encoder does before it reads, unless a test says otherwise."""


class WatchedEncoder(Encoder):
    """Remembers the passages that it read; `before` is called before each call, and may raise."""

    def __init__(self) -> None:
        self._inner = FakeEncoder(dimension=DIMENSION)
        self.passages: list[str] = []
        self.priorities: set[Priority] = set()
        self.before: Callable[[], Awaitable[None]] = do_nothing

    @property
    @override
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    @override
    def dimension(self) -> int:
        return self._inner.dimension

    @override
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        await self.before()
        if kind is TextKind.PASSAGE:
            self.passages += texts
            self.priorities.add(priority)
        return await self._inner.encode(texts, kind=kind, priority=priority)


class Library:
    """The parts, and what tests do with them most; each call is a second after the one before."""

    def __init__(self, *, rerankers: Mapping[Reranking, Reranker] | None = None) -> None:
        self.record = InMemoryRecord()
        self.index = InMemoryVectors(dimension=DIMENSION)
        self.encoder = WatchedEncoder()
        self.claimed: frozenset[str] = frozenset()
        self._at = datetime(2026, 3, 1, tzinfo=UTC)
        self.corpora = Corpora(self.record, now=self.now)
        self.sources = Sources(self.record, now=self.now)
        self.spaces = OneSpace(encoder=self.encoder, index=self.index)
        self.searching = KnowledgeSearch(
            record=self.record,
            encoder=self.encoder,
            index=self.index,
            analyzer=KeywordAnalyzer(),
            rerankers=rerankers or {},
        )

    def now(self) -> datetime:
        self._at += timedelta(seconds=1)
        return self._at

    def open_ingestion(self) -> Ingestion:
        """As a process does that has just started."""
        builder = SourceBuilder(
            record=self.record,
            indexer=self._indexer(),
            parser=FakeParser(),
            similarity=EncodedSimilarity(self.spaces.live),
            claimed=lambda: self.claimed,
            poll_s=0.01,
            now=self.now,
        )
        return Ingestion(
            record=self.record,
            builder=builder,
            poll_s=0.05,
            retry_s=0.01,
            wait_s=20,
            heartbeat=HEARTBEAT,
            now=self.now,
        )

    def _indexer(self) -> Indexer:
        return Indexer(record=self.record, spaces=self.spaces, analyzer=KeywordAnalyzer())

    @asynccontextmanager
    async def ingesting(self) -> AsyncIterator[Ingestion]:
        """A process that ingests what waits."""
        ingestion = self.open_ingestion()
        ingestion.begin()
        try:
            yield ingestion
        finally:
            await ingestion.close()

    def desk(self, ingestion: Ingestion) -> RunDesk:
        """Where its runs are retried and cancelled."""
        kind = RunKind(retry=ingestion.retry, recovers=True)
        return RunDesk(runs=self.record.runs, kinds={PIPELINE: kind}, now=self.now)

    async def settle_index(self) -> None:
        """Takes what is not to be found out of the index."""
        await self._indexer().index_without_encoding(user_id=OWNER)

    async def create(self, name: str = "manuals", config: CorpusConfig = SMALL) -> Corpus:
        return await self.corpora.create(name, app=APP, config=config)

    async def add(self, corpus: Corpus, text: str | bytes, uri: str = "file:a", **metadata: Any) -> SourceVersion:
        """Submits a document and ingests all that waits; the version as it is then."""
        content = text if isinstance(text, bytes) else text.encode()
        document = NewDocument(content, name=uri, source_uri=uri, metadata=metadata)
        [submitted] = await self.sources.submit(corpus.corpus_id, [document], app=corpus.app)
        version = submitted.version
        if submitted.skipped:
            return version
        return await self.finish(version)

    async def finish(self, version: SourceVersion) -> SourceVersion:
        async with self.ingesting() as ingestion:
            finished = await ingestion.finish(version.source_id, version.version, app=version.app)
        assert finished is not None
        return finished

    async def search(self, query: str, *corpora: Corpus, **fields: Any) -> KnowledgeResult:
        metadata = fields.pop("metadata", {})
        request = KnowledgeQuery(
            app=APP,
            query=query,
            corpus_ids=tuple(corpus.corpus_id for corpus in corpora),
            config=SearchConfig.model_validate(fields),
            metadata=metadata,
        )
        return await self.searching.search(request)

    async def chunks(self) -> dict[str, Knowledge]:
        async with self.record.reading(user_id=OWNER) as unit:
            return {chunk.knowledge_id: chunk for chunk in await unit.knowledge.page(limit=10_000)}

    async def indexed(self) -> set[str]:
        return {point.point_id for point in await self.index.stored(Collection.KNOWLEDGE, user_id=OWNER)}

    async def runs(self) -> list[PipelineRun]:
        return await self.record.runs.latest(PIPELINE, limit=100)
