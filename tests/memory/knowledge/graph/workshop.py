"""A library whose graphs are built by the patterns or by a reader that knows the names of tests."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from typing_extensions import override

from memory.extraction.extractor import ReadingExtractor
from memory.jobs.desk import RunDesk, RunKind
from memory.jobs.queue import RunQueue
from memory.knowledge.deleting import delete_source
from memory.knowledge.graph.building import PIPELINE, GraphBuilder
from memory.knowledge.graph.graphs import KnowledgeGraphs
from memory.knowledge.graph.queries import GraphPlace
from memory.knowledge.graph.strategies import Strategy, StrategyName, builtin_strategies
from memory.ports.jobs import PipelineRun
from memory.ports.stores.graphs import EntityExtractor
from memory.values.documents.corpora import Corpus, CorpusConfig
from memory.values.documents.graphs import GraphNode, GraphRelation
from memory.values.understanding.mentions import Mention
from testing.fakes.reader import FakeReader
from tests.memory.knowledge.library import APP, HEARTBEAT, OWNER, Library


class WatchedEntities(EntityExtractor):
    """Remembers the texts that it read, and calls `before` first."""

    def __init__(self, inner: EntityExtractor, before: "Workshop") -> None:
        self._inner = inner
        self._workshop = before

    @property
    @override
    def version(self) -> str:
        return self._inner.version + self._workshop.code

    @override
    async def find(self, texts: Sequence[str]) -> list[list[Mention]]:
        await self._workshop.before()
        self._workshop.read += texts
        return await self._inner.find(texts)


class Workshop(Library):
    """The library with its graphs.

    Attributes:
        read: The chunks that a strategy has read.
        code: What sets the code of the strategy apart.
    """

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.code = ""
        self.before = self.encoder.before
        self.graphs = KnowledgeGraphs(
            self.record, strategies=[StrategyName.PATTERNS, StrategyName.READER], now=self.now
        )
        self.queries, self.versions = self.graphs.queries, self.graphs.versions

    @staticmethod
    def config(fields: Mapping[str, object]) -> CorpusConfig:
        return CorpusConfig.model_validate(fields)

    def builder(self) -> GraphBuilder:
        strategies = {
            name: Strategy(WatchedEntities(strategy.entities, self), strategy.relations)
            for name, strategy in builtin_strategies(ReadingExtractor(FakeReader(), seeds=())).items()
        }
        return GraphBuilder(record=self.record, strategies=strategies, pauses_s=(0.0,), now=self.now)

    def queue(self) -> RunQueue:
        """As a process has it that has just started."""
        return RunQueue(
            runs=self.record.runs, handlers=[self.builder()], poll_s=0.01, heartbeat=HEARTBEAT, now=self.now
        )

    def build_desk(self, queue: RunQueue) -> RunDesk:
        return RunDesk(runs=self.record.runs, kinds={PIPELINE: RunKind(retry=queue.retry, recovers=True)}, now=self.now)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[RunQueue]:
        queue = self.queue()
        queue.begin()
        try:
            yield queue
        finally:
            await queue.close()

    async def until_over(self, run_id: str) -> PipelineRun:
        async with asyncio.timeout(20):
            while True:
                run = await self.record.runs.get(run_id)
                assert run is not None
                if run.state.is_over:
                    return run
                await asyncio.sleep(0.01)

    async def build(self, corpus: Corpus, *, full: bool = False, activate: bool = True) -> PipelineRun:
        """Builds a version and returns its run."""
        run = await self.graphs.build(corpus.corpus_id, app=corpus.app, full=full, activate=activate)
        async with self.working():
            return await self.until_over(run.run_id)

    async def nodes(self, corpus: Corpus, version: int | None = None) -> dict[str, GraphNode]:
        view = await self.queries.view(GraphPlace(corpus.app, corpus.corpus_id, version), limit=1_000)
        return {node.name: node for node in view.nodes}

    async def edges(self, corpus: Corpus, version: int | None = None) -> dict[tuple[str, str, str], GraphRelation]:
        view = await self.queries.view(GraphPlace(corpus.app, corpus.corpus_id, version), limit=1_000)
        names = {node.node_id: node.name for node in view.nodes}
        found = {}
        for edge in view.edges:
            source, target = names[edge.source_id], names[edge.target_id]
            if edge.type == "co_occurs":
                source, target = sorted((source, target))
            found[source, edge.type, target] = edge
        return found

    async def delete(self, source_id: str) -> None:
        await delete_source(self.record, source_id, owner=OWNER)


__all__ = ["APP", "OWNER", "Workshop"]
