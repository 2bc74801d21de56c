"""Builds versions of a corpus' graph as runs, beside the version that is shown (004 §8, §11.4).

Every step can be repeated. What a strategy extracts of one version of a source is stored under an id that is derived
from both, with how many chunks are done, in one transaction with their evidence: a run whose process was killed goes
on behind them, and the next version takes what did not change over as it is.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter

import structlog
from more_itertools import chunked
from pydantic import JsonValue
from typing_extensions import override

from ...jobs.queue import PipelineHandler
from ...jobs.runs import RunTaken, RunWork, reason_of
from ...ports.stores.record import SystemOfRecord, UnitOfWork
from ...values.access.identity import app_owner
from ...values.base import utc_now
from ...values.documents.corpora import Knowledge, Source
from ...values.documents.graphs import BY_HAND, GraphExtraction, GraphState, GraphVersion
from ...values.errors import CorpusNotFound, InvalidField, Overloaded, StoreUnavailable, Unavailable
from ...values.ids import graph_extraction_id
from ..corpora import get_corpus
from .strategies import ChunkGraph, Strategy, StrategyName
from .versions import activated, next_number

PIPELINE = "knowledge_graph"
KEPT_VERSIONS = 10
"""Versions that are kept beside the one that is shown."""
_CHUNKS_AT_ONCE = 32
_SOURCES_AT_ONCE = 200
_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0)
_LEFT = "its run ended without it"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class BuildRequest:
    """What a run of this pipeline is to do; its fields are the input of the run.

    Args:
        salt: Empty for an update, which extracts only what no version has; else what sets a full rebuild apart.
    """

    corpus_id: str
    strategy: StrategyName
    salt: str = ""
    activate: bool = True

    def as_input(self) -> dict[str, JsonValue]:
        """The input of the run."""
        mode = "full" if self.salt else "incremental"
        return {
            "corpus_id": self.corpus_id,
            "strategy": self.strategy.value,
            "mode": mode,
            "salt": self.salt,
            "activate": self.activate,
        }

    @classmethod
    def of(cls, given: Mapping[str, JsonValue]) -> "BuildRequest":
        """What a run's input asks for."""
        return cls(
            corpus_id=str(given["corpus_id"]),
            strategy=StrategyName(str(given["strategy"])),
            salt=str(given["salt"]),
            activate=bool(given["activate"]),
        )


@dataclass
class _Progress:
    """How far a run is, in chunks."""

    total: int = 0
    done: int = 0
    extracted: int = 0
    sources: int = 0


@dataclass
class GraphFigures:
    """Totals since this process began, for `/health/detailed` and the metrics (004 §9.3)."""

    built: int = 0
    failed: int = 0
    chunks: int = 0
    seconds: float = field(default=0.0)

    def __call__(self) -> dict[str, float]:
        """By the names of the figures; `chunks_per_s` is over the time of building."""
        return {
            "knowledge_graphs_built": self.built,
            "knowledge_graphs_failed": self.failed,
            "knowledge_graph_chunks_extracted": self.chunks,
            "knowledge_graph_chunks_per_s": self.chunks / self.seconds if self.seconds else 0.0,
        }


class GraphBuilder(PipelineHandler):
    """Builds versions.

    Args:
        record: Stores chunks and graphs.
        strategies: Those that this service has.
        pauses_s: Before a model that is away or busy is asked again.
        now: The clock.

    Attributes:
        figures: See `GraphFigures`.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        strategies: Mapping[StrategyName, Strategy],
        pauses_s: Sequence[float] = _PAUSES_S,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(PIPELINE, resumes=True)
        self.figures = GraphFigures()
        self._record = record
        self._strategies = strategies
        self._pauses_s = pauses_s
        self._now = now

    @override
    async def work(self, work: RunWork) -> Mapping[str, JsonValue]:
        request, owner = BuildRequest.of(work.run.input), app_owner(str(work.run.app))
        strategy = self._strategies.get(request.strategy)
        if strategy is None:
            raise InvalidField(
                f"strategy: this service has no {request.strategy.value!r}",
                field="strategy",
                allowed=", ".join(self._strategies),
            )
        graph = await self._begin(work, request, owner)
        since, progress = perf_counter(), _Progress()
        try:
            await self._add_sources(graph, request, strategy, work, progress)
            ready = await self._finish(graph, request, progress)
        except (RunTaken, StoreUnavailable):
            raise
        except Exception as error:
            await self._give_up(graph, reason_of(error))
            raise
        seconds = perf_counter() - since
        self.figures.built += 1
        self.figures.chunks += progress.extracted
        self.figures.seconds += seconds
        output: dict[str, JsonValue] = {
            "version": ready.version,
            "sources": ready.source_count,
            "chunks": ready.chunk_count,
            "extracted": progress.extracted,
            "nodes": ready.node_count,
            "edges": ready.edge_count,
            "seconds": round(seconds, 3),
        }
        per_s = round(progress.extracted / seconds, 2) if seconds else 0.0
        _log.info("graph_build_completed", corpus_id=graph.corpus_id, **output, chunks_per_s=per_s)
        return output

    async def _begin(self, work: RunWork, request: BuildRequest, owner: str) -> GraphVersion:
        """The version of this run: that which an earlier attempt has begun, or a new one."""
        async with self._record.writing(user_id=owner) as unit:
            corpus = await get_corpus(unit, request.corpus_id)
            known = await unit.knowledge_graph.versions(corpus.corpus_id)
            for version in known:
                if version.run_id == work.run.run_id:
                    return version
                await self._fail_where_left(unit, version)
            shown = next((version for version in known if version.active), None)
            graph = GraphVersion(
                app=corpus.app,
                corpus_id=corpus.corpus_id,
                version=next_number(known),
                strategy=request.strategy.value,
                run_id=work.run.run_id,
                removed=shown.removed if shown else (),
                created_at=self._now(),
            )
            await unit.knowledge_graph.save_version(graph)
            if shown is not None:
                await self._take_over_what_was_added(unit, shown, graph)
            await unit.commit()
        _log.info(
            "graph_build_started",
            corpus_id=graph.corpus_id,
            app_name=graph.app,
            version=graph.version,
            strategy=graph.strategy,
            mode="full" if request.salt else "incremental",
        )
        return graph

    async def _fail_where_left(self, unit: UnitOfWork, version: GraphVersion) -> None:
        """Ends a version whose run ended without it, as one that was given up does."""
        if version.state is not GraphState.BUILDING:
            return
        run = await self._record.runs.get(version.run_id)
        if run is None or run.state.is_over:
            failed = {"state": GraphState.FAILED, "error": (run and run.error) or _LEFT, "ended_at": self._now()}
            await unit.knowledge_graph.save_version(version.model_copy(update=failed))

    async def _take_over_what_was_added(self, unit: UnitOfWork, shown: GraphVersion, graph: GraphVersion) -> None:
        members = await unit.knowledge_graph.members(shown.corpus_id, shown.version)
        extractions = await unit.knowledge_graph.extractions(members)
        by_hand = [each.extraction_id for each in extractions if each.source_id == BY_HAND]
        await unit.knowledge_graph.add_members(graph.corpus_id, graph.version, by_hand)

    async def _add_sources(
        self, graph: GraphVersion, request: BuildRequest, strategy: Strategy, work: RunWork, progress: _Progress
    ) -> None:
        sources = await self._sources(graph)
        progress.total = sum(source.chunk_count for source in sources)
        by = f"{strategy.version}/{request.salt}"
        for source in sources:
            extraction = GraphExtraction(
                app=graph.app,
                extraction_id=graph_extraction_id(graph.user_id, source.source_id, source.version, by),
                corpus_id=graph.corpus_id,
                source_id=source.source_id,
                version=source.version,
            )
            if await self._add_source(graph, extraction, strategy, work, progress):
                progress.sources += 1

    async def _add_source(
        self, graph: GraphVersion, extraction: GraphExtraction, strategy: Strategy, work: RunWork, progress: _Progress
    ) -> bool:
        """Makes a source a part of the version, with what of it is not extracted yet; whether it still exists."""
        async with self._record.writing(user_id=graph.user_id) as unit:
            if not await unit.sources.get([extraction.source_id]):
                return False
            known = await unit.knowledge_graph.extractions([extraction.extraction_id])
            if not known:
                await unit.knowledge_graph.save(extraction, [], [])
            await unit.knowledge_graph.add_members(graph.corpus_id, graph.version, [extraction.extraction_id])
            ids = await unit.knowledge.ids(extraction.source_id, version=extraction.version)
            await unit.commit()
        done = known[0].done if known else 0
        progress.done += min(done, len(ids))
        await work.advance(done=progress.done, total=progress.total)
        for portion in chunked(ids[done:], _CHUNKS_AT_ONCE):
            done += len(portion)
            if not await self._extract(extraction.model_copy(update={"done": done}), portion, strategy):
                return False
            progress.done += len(portion)
            progress.extracted += len(portion)
            await work.advance(done=progress.done)
        return True

    async def _extract(self, extraction: GraphExtraction, ids: Sequence[str], strategy: Strategy) -> bool:
        async with self._record.reading(user_id=extraction.user_id) as unit:
            chunks = await unit.knowledge.get(ids)
        found = await self._asked_again(strategy, chunks)
        async with self._record.writing(user_id=extraction.user_id) as unit:
            if not await unit.sources.get([extraction.source_id]):
                return False  # deleted meanwhile
            await unit.knowledge_graph.save(
                extraction,
                [mention for chunk in found for mention in chunk.mentions],
                [link for chunk in found for link in chunk.links],
            )
            await unit.commit()
        return True

    async def _asked_again(self, strategy: Strategy, chunks: Sequence[Knowledge]) -> list[ChunkGraph]:
        """What a strategy extracts, asked again after pauses while a model is away or busy."""
        for pause_s in self._pauses_s:
            try:
                return await strategy.extract(chunks)
            except (Unavailable, Overloaded) as error:
                _log.warning("graph_extraction_postponed", error=error.message, pause_s=pause_s)
                await asyncio.sleep(pause_s)
        return await strategy.extract(chunks)

    async def _finish(self, graph: GraphVersion, request: BuildRequest, progress: _Progress) -> GraphVersion:
        """Makes the version the one that is shown, and lets go of the oldest.

        Raises:
            CorpusNotFound: It was deleted meanwhile.
        """
        async with self._record.writing(user_id=graph.user_id) as unit:
            await get_corpus(unit, graph.corpus_id)
            nodes, edges = await unit.knowledge_graph.count(graph)
            ready = graph.model_copy(
                update={
                    "state": GraphState.READY,
                    "source_count": progress.sources,
                    "chunk_count": progress.done,
                    "node_count": nodes,
                    "edge_count": edges,
                    "ended_at": self._now(),
                }
            )
            await unit.knowledge_graph.save_version(ready)
            if request.activate:
                ready = await activated(unit, ready)
            kept = await unit.knowledge_graph.versions(graph.corpus_id)
            latest = [version.version for version in kept if version.active or version.state is GraphState.BUILDING]
            latest += [version.version for version in kept if version.state is GraphState.READY][:KEPT_VERSIONS]
            await unit.knowledge_graph.prune(graph.corpus_id, latest)
            await unit.commit()
        return ready

    async def _give_up(self, graph: GraphVersion, reason: str) -> None:
        self.figures.failed += 1
        _log.warning("graph_build_failed", corpus_id=graph.corpus_id, version=graph.version, error=reason)
        failed = {"state": GraphState.FAILED, "error": reason, "ended_at": self._now()}
        async with self._record.writing(user_id=graph.user_id) as unit:
            try:
                await get_corpus(unit, graph.corpus_id)
            except CorpusNotFound:
                await unit.knowledge_graph.delete_corpus(graph.corpus_id)
            else:
                await unit.knowledge_graph.save_version(graph.model_copy(update=failed))
            await unit.commit()

    async def _sources(self, graph: GraphVersion) -> list[Source]:
        """The sources of the corpus that have a version that is found."""
        found: list[Source] = []
        after: str | None = None
        while True:
            async with self._record.reading(user_id=graph.user_id) as unit:
                page = await unit.sources.page(graph.corpus_id, after=after, limit=_SOURCES_AT_ONCE)
            found += (source for source in page if source.version)
            if len(page) < _SOURCES_AT_ONCE:
                return found
            after = page[-1].source_id
