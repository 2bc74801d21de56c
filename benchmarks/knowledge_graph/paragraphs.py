"""Builds the graph of encyclopaedia paragraphs with the trained reader, and measures it.

    python -m benchmarks.knowledge_graph.paragraphs DATA --cache FOLDER [--sets drcd cmrc2018] [--take 300] \
        [--edges FILE] [--strategy reader]

DATA has `retrieval/drcd` and `retrieval/cmrc2018`; `--cache` keeps prepared weights. The first paragraphs of each set
are the chunks of a corpus in the embedded record, in this process. It tells chunks per second, the size of the graph,
how long queries take, and recall@1 and @5 of the service's search in mode `hybrid` with and without
the scores of the graph, added with each of a few weights. `--edges` writes 50 edges at random, to be
judged by hand. The last line is JSON.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.retrieval.corpora import Corpus, read_corpora
from benchmarks.retrieval.reranking import KeptEncoder
from memory.extraction.extractor import ReadingExtractor
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.jobs.queue import RunQueue
from memory.knowledge.corpora import Corpora
from memory.knowledge.graph.building import GraphBuilder
from memory.knowledge.graph.communities import find_communities
from memory.knowledge.graph.graphs import KnowledgeGraphs
from memory.knowledge.graph.queries import GraphPlace, opened
from memory.knowledge.graph.search import graph_scores
from memory.knowledge.graph.strategies import StrategyName, builtin_strategies
from memory.knowledge.search import KnowledgeSearch
from memory.language.keywords import KeywordAnalyzer
from memory.values.access.identity import app_owner
from memory.values.base import utc_now
from memory.values.documents.corpora import Knowledge, KnowledgeQuery, SearchConfig, Source
from memory.values.ids import knowledge_id, source_id
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.assets.weight_files import shipped_weight_file
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from models.reader.reader import BatchedReader, TrainedReader
from storage.inmemory.vectors import InMemoryVectors
from storage.sqlite.record import SqliteRecord

APP = "benchmark"
OWNER = app_owner(APP)
WEIGHTS = (0.1, 0.2, 0.3, 0.5)
_CANDIDATES = 50
_SAMPLED = 50
_ASKED = 30
_SEED = 7


class Bench:
    """One set: its first paragraphs as a corpus with an index and a graph."""

    def __init__(self, record: SqliteRecord, encoder: KeptEncoder, questions: Corpus, *, take: int) -> None:
        self.record = record
        self.encoder = encoder
        self.index = InMemoryVectors(dimension=encoder.dimension)
        self.texts = [resource.content for resource in questions.resources[:take]]
        taken = {resource.resource_id: place for place, resource in enumerate(questions.resources[:take])}
        self.questions = [
            (question.text, taken[gold]) for question in questions.questions for gold in question.gold if gold in taken
        ]
        self.graphs = KnowledgeGraphs(record, strategies=[*StrategyName])
        self.chunk_ids: list[str] = []
        self.corpus_id = ""

    @property
    def place(self) -> GraphPlace:
        """The graph that is asked."""
        return GraphPlace(APP, self.corpus_id)

    async def fill(self, name: str) -> None:
        """Each paragraph is a source with one chunk."""
        corpus = await Corpora(self.record).create(name, app=APP)
        self.corpus_id, now = corpus.corpus_id, utc_now()
        async with self.record.writing(user_id=OWNER) as unit:
            for number, text in enumerate(self.texts):
                source = source_id(OWNER, corpus.corpus_id, f"{name}:{number}")
                chunk = knowledge_id(OWNER, corpus.corpus_id, source, 1, 0)
                self.chunk_ids.append(chunk)
                same: dict[str, Any] = {"app": APP, "corpus_id": corpus.corpus_id, "source_id": source}
                same |= {"source_uri": f"{name}:{number}", "version": 1, "created_at": now}
                await unit.sources.save(Source(**same, updated_at=now, chunk_count=1))
                await unit.knowledge.save([Knowledge(**same, knowledge_id=chunk, chunk_index=0, content=text)])
            await unit.commit()
        spaces = OneSpace(encoder=self.encoder, index=self.index)
        await Indexer(record=self.record, spaces=spaces, analyzer=KeywordAnalyzer()).index(user_id=OWNER)
        self.encoder.save()

    async def build(self, builder: GraphBuilder, strategy: StrategyName, *, full: bool = False) -> dict[str, Any]:
        """Builds a version; what its run says."""
        queue = RunQueue(runs=self.record.runs, handlers=[builder], poll_s=0.05)
        queue.begin()
        run = await self.graphs.build(self.corpus_id, app=APP, strategy=strategy, full=full)
        while True:
            known = await self.record.runs.get(run.run_id)
            if known is not None and known.state.is_over:
                break
            await asyncio.sleep(0.05)
        await queue.close()
        if known.error:
            raise RuntimeError(known.error)
        return dict(known.output)

    async def latencies(self) -> dict[str, float]:
        """Median milliseconds of queries, about the largest nodes."""
        queries = self.graphs.queries
        nodes = (await queries.view(self.place, limit=_ASKED)).nodes
        first, *others = (node.node_id for node in nodes)
        asked: dict[str, list[Callable[[], Coroutine[Any, Any, object]]]] = {
            "find": [partial(queries.find, self.place, node.name, limit=20) for node in nodes],
            "one_hop": [partial(queries.neighbours, self.place, end, hops=1, limit=50) for end in others],
            "two_hops": [partial(queries.neighbours, self.place, end, hops=2, limit=50) for end in others],
            "paths": [partial(queries.paths, self.place, first, end, hops=4, limit=5) for end in others],
            "view_100": [lambda: queries.view(self.place, limit=100)] * 5,
            "communities_500": [lambda: find_communities(queries, self.place, limit=500)] * 3,
        }
        medians = {}
        for name, calls in asked.items():
            times = []
            for call in calls:
                since = time.perf_counter()
                await call()
                times.append(1000 * (time.perf_counter() - since))
            medians[name] = round(statistics.median(times), 1)
        return medians

    async def sample(self, names: int) -> list[dict[str, Any]]:
        """Edges at random, with their strongest evidence."""
        view = await self.graphs.queries.view(self.place, limit=1_000)
        shown = {node.node_id: node for node in view.nodes}
        edges = random.Random(_SEED).sample(view.edges, min(names, len(view.edges)))
        return [
            {
                "source": shown[edge.source_id].name,
                "type": edge.type,
                "target": shown[edge.target_id].name,
                "kinds": [shown[edge.source_id].kind, shown[edge.target_id].kind],
                "weight": edge.weight,
                "by": evidence.by,
                "words": evidence.quote[
                    evidence.spans[0].start - evidence.quote_start : evidence.spans[0].end - evidence.quote_start
                ],
            }
            for edge in edges
            for evidence in (await self.graphs.queries.edge_evidence(self.place, edge.edge_id, limit=1))
        ]

    async def recalls(self) -> dict[str, dict[str, float]]:
        """Recall of `hybrid` alone, and with the graph's scores (brought to 0–1) added with each weight."""
        search = KnowledgeSearch(
            record=self.record,
            encoder=self.encoder,
            index=self.index,
            analyzer=KeywordAnalyzer(),
            rerankers={},
            spread=get_model(self.encoder.model_id).cosine_spread,
        )
        ranks: dict[str, list[int]] = {}
        config = SearchConfig(limit=_CANDIDATES)
        for text, gold in self.questions:
            query = KnowledgeQuery(app=APP, query=text, corpus_ids=(self.corpus_id,), config=config)
            hits = {hit.knowledge_id: hit.score for hit in (await search.search(query)).results}
            async with self.record.reading(user_id=OWNER) as unit:
                scores = await graph_scores(unit, await opened(unit, self.place), text)
            best = max(scores.values(), default=1.0)
            for weight in (0.0, *WEIGHTS):
                fused = {
                    id_: hits.get(id_, 0.0) + weight * scores.get(id_, 0.0) / best
                    for id_ in (*hits, *(scores if weight else ()))
                }
                order = sorted(fused, key=lambda id_: (-fused[id_], id_))
                wanted = self.chunk_ids[gold]
                ranks.setdefault(f"{weight:g}", []).append(order.index(wanted) if wanted in fused else len(order))
        return {
            weight: {f"recall@{k}": round(100 * statistics.fmean(rank < k for rank in found), 2) for k in (1, 5)}
            for weight, found in ranks.items()
        }


async def measure(arguments: argparse.Namespace, engine: SentenceTransformerEngine) -> dict[str, Any]:
    """The figures of each set."""
    reader = BatchedReader(
        TrainedReader(shipped_weight_file("reader", None), arguments.cache, device="cpu", threads=arguments.threads)
    )
    strategies = builtin_strategies(ReadingExtractor(reader))
    report: dict[str, Any] = {}
    for corpus in read_corpora(arguments.data):
        if corpus.data_set not in arguments.sets:
            continue
        with tempfile.TemporaryDirectory() as folder:
            record = SqliteRecord.open(Path(folder) / "record.db", durable=False)
            encoder = KeptEncoder(engine, arguments.cache / f"graph-{corpus.data_set}.npz")
            bench = Bench(record, encoder, corpus, take=arguments.take)
            await bench.fill(corpus.data_set)
            builder = GraphBuilder(record=record, strategies=strategies)
            since = time.process_time()
            built = await bench.build(builder, StrategyName(arguments.strategy))
            cpu_s = time.process_time() - since
            if arguments.edges and corpus.data_set == arguments.sets[0]:
                sampled = await bench.sample(_SAMPLED)
                arguments.edges.write_text(json.dumps(sampled, ensure_ascii=False, indent=1), encoding="utf-8")
            updated = await bench.build(builder, StrategyName(arguments.strategy))
            report[corpus.data_set] = {
                "built": built,
                "chunks_per_s": round(built["extracted"] / built["seconds"], 2),
                "chunks_per_cpu_s": round(built["extracted"] / cpu_s, 2),
                "update_without_changes_s": updated["seconds"],
                "median_ms": await bench.latencies(),
            }
            print(corpus.data_set, json.dumps(report[corpus.data_set]), file=sys.stderr, flush=True)
            report[corpus.data_set] |= {"questions": len(bench.questions), "recalls": await bench.recalls()}
            encoder.save()
            await record.close()
    await reader.model.close()
    return report


def main(words: Sequence[str] | None = None) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder that keeps weights and vectors")
    parser.add_argument("--sets", nargs="*", choices=("drcd", "cmrc2018"), default=("drcd", "cmrc2018"))
    parser.add_argument("--take", type=int, default=300, help="paragraphs of each set")
    parser.add_argument("--strategy", choices=("patterns", "reader"), default="reader")
    parser.add_argument("--edges", type=Path, help="file for the edges to judge")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args(words)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    folder = prepare_model(DEFAULT_MODEL, arguments.cache)
    engine = SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=arguments.threads)
    print(json.dumps(asyncio.run(measure(arguments, engine)), ensure_ascii=False))


if __name__ == "__main__":
    main()
