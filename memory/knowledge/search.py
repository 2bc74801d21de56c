"""Searches corpora: vectors and words recall, a recipe fuses, a reranker reads the best again (004 §5.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypedDict

import structlog

from ..language.keywords import KeywordAnalyzer
from ..ports.models.language import MAX_RERANKED, Encoder, Priority, Reranker, TextKind
from ..ports.stores.record import SystemOfRecord
from ..ports.stores.vectors import Collection, FloatVector, IndexQuery, VectorIndex
from ..retrieval.fusion import reciprocal_ranks
from ..retrieval.legs import LanguageGap, search_across_languages
from ..values.documents.corpora import (
    Corpus,
    Knowledge,
    KnowledgeHit,
    KnowledgeQuery,
    KnowledgeResult,
    Reranking,
    SearchMode,
)
from ..values.errors import CorpusNotFound, EmbeddingFailed, Overloaded, SearchError, StoreUnavailable, Unavailable
from ..values.hits import SearchFilter
from ..values.vectors import SparseVector
from .fusing import HYBRID, HybridFusion
from .highlights import find_highlights
from .reranking import rerank, reranker_for

_MAX_CANDIDATES = 1_000
_MIN_CANDIDATES = 50
_PREVIEW_CHARACTERS = 100
_log = structlog.get_logger(__name__)

Scores = dict[str, float]
"""Scores by the id of the chunk, best first."""


class _Vector(TypedDict, total=False):
    dense: FloatVector
    sparse: SparseVector


@dataclass
class _Search:
    """What is known of a search in progress."""

    degraded: list[str] = field(default_factory=list)
    took_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        begun = perf_counter()
        try:
            yield
        finally:
            self.took_ms[step] = round((perf_counter() - begun) * 1000, 3)


class KnowledgeSearch:
    """Searches the corpora of an app with the encoder and the index of one vector space.

    Args:
        record: Stores the chunks.
        encoder: Encodes queries.
        index: Holds `Collection.KNOWLEDGE`.
        analyzer: Splits queries into terms.
        rerankers: Those that the service has: `local` and `api`.
        gap: That between the encoder's languages; None where it is unknown.
        spread: How far below the best cosine one lies that says nothing (`HybridFusion`); None where it is unknown.
    """

    def __init__(
        self,
        *,
        record: SystemOfRecord,
        encoder: Encoder,
        index: VectorIndex,
        analyzer: KeywordAnalyzer,
        rerankers: Mapping[Reranking, Reranker],
        gap: LanguageGap | None = None,
        spread: float | None = None,
    ) -> None:
        self._gap = None if gap is None else gap.reduced(HYBRID.across)
        self._fusion = HybridFusion(analyzer, spread=spread)
        self._record = record
        self._encoder = encoder
        self._index = index
        self._analyzer = analyzer
        self._rerankers = rerankers

    async def search(self, request: KnowledgeQuery) -> KnowledgeResult:
        """The chunks that fit a query best, of all its corpora together.

        Where the query cannot be embedded, words alone find chunks, and `degraded` has `vector`; where no reranker
        answers, the fused ranking stands, and `degraded` has `rerank`.

        Raises:
            CorpusNotFound: The app has no such corpus.
            EmbeddingFailed: The query cannot be embedded, and the mode is `semantic`.
            SearchError: The index cannot answer.
            Overloaded: The encoder's queue is full.
        """
        corpora = await self._corpora(request)
        for corpus_id in request.corpus_ids:
            _log.info(
                "search_started",
                corpus_id=corpus_id,
                app_name=request.app,
                mode=request.config.mode.value,
                limit=request.config.limit,
                query_preview=request.query[:_PREVIEW_CHARACTERS],
            )
        search = _Search()
        semantic, keyword = await self._recall(request, search)
        with search.timed("record"):
            chunks = await self._current(request, {**semantic, **keyword})
        with search.timed("fuse"):
            ranked = self._ranked(request, chunks, semantic, keyword)
        hits = [_hit(chunk, corpora[chunk.corpus_id], score, parts) for chunk, score, parts in ranked]
        hits = await self._rerank(request, hits, search)
        results = [
            hit.model_copy(update={"highlights": find_highlights(request.query, hit.content, self._analyzer)})
            for hit in hits[: request.config.limit]
        ]
        for corpus_id in request.corpus_ids:
            _log.info(
                "search_completed",
                corpus_id=corpus_id,
                mode=request.config.mode.value,
                semantic_count=len(semantic),
                keyword_count=len(keyword),
                merged_count=len(results),
            )
        return KnowledgeResult(
            results=tuple(results),
            mode=request.config.mode,
            semantic_count=len(semantic),
            keyword_count=len(keyword),
            degraded=tuple(search.degraded),
            took_ms=search.took_ms,
        )

    async def _corpora(self, request: KnowledgeQuery) -> dict[str, Corpus]:
        async with self._record.reading(user_id=request.user_id) as unit:
            corpora = {corpus.corpus_id: corpus for corpus in await unit.corpora.get(request.corpus_ids)}
        for corpus_id in request.corpus_ids:
            if corpus_id not in corpora:
                raise CorpusNotFound(f"There is no corpus {corpus_id!r}.")
        return corpora

    async def _recall(self, request: KnowledgeQuery, search: _Search) -> tuple[Scores, Scores]:
        """The cosines and the BM25 scores of the candidates, of the legs that the mode has."""
        mode = request.config.mode
        vectors: list[_Vector] = []
        if mode is not SearchMode.KEYWORD:
            with search.timed("embed"):
                vectors += await self._dense(request, search)
        has_vector = bool(vectors)
        sparse = self._analyzer.query_vector(request.query)
        if mode is not SearchMode.SEMANTIC and sparse.indices:
            vectors.append({"sparse": sparse})
        with search.timed("index"):
            legs = await self._search_index(request, vectors)
        semantic = legs.pop(0) if has_vector else {}
        return semantic, legs.pop(0) if legs else {}

    async def _dense(self, request: KnowledgeQuery, search: _Search) -> list[_Vector]:
        try:
            [dense] = await self._encoder.encode([request.query], kind=TextKind.QUERY, priority=Priority.INTERACTIVE)
        except Unavailable as error:
            if request.config.mode is SearchMode.SEMANTIC:
                raise EmbeddingFailed(error.message, component=error.component, attempts=1) from error
            _log.warning("knowledge_search_degraded", part="vector", error=error.message)
            search.degraded.append("vector")
            return []
        return [{"dense": dense}]

    async def _search_index(self, request: KnowledgeQuery, vectors: Sequence[_Vector]) -> list[Scores]:
        """For each vector the scores of the nearest chunks, of all corpora together."""
        limit = min(_MAX_CANDIDATES, max(_MIN_CANDIDATES, 2 * request.config.limit))
        filters = SearchFilter(metadata=request.metadata)
        queries = [
            IndexQuery(Collection.KNOWLEDGE, limit, filters=filters, where={"corpus_id": corpus_id}, **vector)
            for vector in vectors
            for corpus_id in request.corpus_ids
        ]
        try:
            found = iter(
                await search_across_languages(self._index, queries, gap=self._gap, user_id=request.user_id)
                if queries
                else []
            )
        except StoreUnavailable as error:
            raise SearchError(f"The search cannot be answered: {error.message}", component=error.component) from error
        legs = []
        for _ in vectors:
            points = [point for _ in request.corpus_ids for point in next(found)]
            best = sorted(points, key=lambda point: (-point.score, point.point_id))
            legs.append({point.point_id: point.score for point in best})
        return legs

    async def _current(self, request: KnowledgeQuery, ids: Iterable[str]) -> list[Knowledge]:
        """The chunks of these ids that are of their source's current version."""
        async with self._record.reading(user_id=request.user_id) as unit:
            chunks = await unit.knowledge.get([*ids])
            sources = await unit.sources.get([*dict.fromkeys(chunk.source_id for chunk in chunks)])
        versions = {source.source_id: source.version for source in sources}
        return [chunk for chunk in chunks if versions.get(chunk.source_id) == chunk.version]

    def _ranked(
        self, request: KnowledgeQuery, chunks: Sequence[Knowledge], semantic: Scores, keyword: Scores
    ) -> list[tuple[Knowledge, float, Scores]]:
        """The best chunks, best first, with their scores and the parts of these.

        `semantic` and `keyword` rank by their own scores, cosine and BM25; `hybrid` by the weighted sum of what
        `HybridFusion` makes of both; `rrf` by the ranks alone.
        """
        parts: dict[str, Scores] = {chunk.knowledge_id: {} for chunk in chunks}
        for name, scores in (("cosine", semantic), ("bm25", keyword)):
            for id_ in parts.keys() & scores.keys():
                parts[id_][name] = scores[id_]
        match request.config.mode:
            case SearchMode.SEMANTIC:
                ranking: Mapping[str, float] = semantic
            case SearchMode.KEYWORD:
                ranking = keyword
            case SearchMode.RRF:
                ranking = reciprocal_ranks([[*semantic], [*keyword]], k=request.config.rrf_k)
                for id_, of_chunk in parts.items():
                    of_chunk["rrf"] = ranking[id_]
            case SearchMode.HYBRID:
                fused = self._fusion.fuse(request.query, chunks, semantic, keyword, request.config)
                ranking = {id_: each.score for id_, each in fused.items()}
                for id_, each in fused.items():
                    parts[id_] |= {"semantic": each.semantic, "keyword": each.keyword}
        best = sorted(chunks, key=lambda chunk: (-ranking[chunk.knowledge_id], chunk.knowledge_id))
        return [
            (chunk, ranking[chunk.knowledge_id], parts[chunk.knowledge_id])
            for chunk in best[: max(request.config.limit, MAX_RERANKED)]
        ]

    async def _rerank(self, request: KnowledgeQuery, hits: list[KnowledgeHit], search: _Search) -> list[KnowledgeHit]:
        try:
            reranker = reranker_for(request.config.reranking, self._rerankers)
            if reranker is None:
                return hits
            with search.timed("rerank"):
                return await rerank(reranker, request.query, hits)
        except (Unavailable, Overloaded) as error:
            _log.warning("knowledge_search_degraded", part="rerank", error=error.message)
            search.degraded.append("rerank")
            return hits


def _hit(chunk: Knowledge, corpus: Corpus, score: float, parts: Scores) -> KnowledgeHit:
    same = {name: getattr(chunk, name) for name in KnowledgeHit.model_fields if name in Knowledge.model_fields}
    return KnowledgeHit(**same, corpus=corpus.name, score=score, parts=parts)
