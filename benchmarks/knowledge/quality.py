"""Measures what search in the knowledge base finds: recall@1, recall@5 and nDCG@10 of modes, rerankers and chunkers.

    python -m benchmarks.knowledge.quality DATA --models FOLDER --cache FILE [--part report] [--tables modes,across]

DATA is the folder with `retrieval` and `rewriting`. Documents are ingested by the service's own ingestion into the
embedded vector index and asked for by its own search, in this process.

- `modes`: DRCD (Traditional) and half of CMRC2018 (Simplified), each in a corpus of its own, a paragraph a chunk; each
  mode without reranking and with the reranker that ships.
- `across`: Chinese questions about English passages in one search over the three corpora, and what that costs DRCD and
  CMRC2018 in the same search.
- `chunkers`: the articles of both sets, all paragraphs of each joined, cut by each strategy. Found is a chunk of the
  right article that has the words which answer, with six characters before and after them.

One passage is right for a question, so that nDCG@10 is `1 / log2(1 + rank)`. Recipes were chosen on the questions about
every other article (`--part tune`); the report is about the rest. The last line is JSON. A random ranking of N passages
has a recall@1 of 1/N; no mode can lose what its legs both find first.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.knowledge.corpora import Asked, Passages, read_all
from benchmarks.retrieval.reranking import KeptEncoder
from documents.parser import FileParser
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.knowledge.building import SourceBuilder
from memory.knowledge.corpora import Corpora
from memory.knowledge.ingestion import Ingestion
from memory.knowledge.search import KnowledgeSearch
from memory.knowledge.similarity import EncodedSimilarity
from memory.knowledge.sources import NewDocument, Sources
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.language import Encoder, Priority, Reranker, TextKind
from memory.ports.stores.record import SystemOfRecord
from memory.values.access.identity import app_owner
from memory.values.documents.corpora import Corpus, CorpusConfig, KnowledgeQuery, Reranking, SearchConfig
from memory.values.documents.knowledge import ChunkingConfig, ChunkingStrategy
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.language_gaps import language_gaps
from models.assets.prepare import prepare_model
from models.assets.weight_files import shipped_weight_file
from models.encoder.open_engine import open_engine
from models.reranker.late_interaction import LateInteraction
from models.reranker.scoring import score_all, token_vectors
from storage.edge.vectors import EdgeVectors
from storage.inmemory.record import InMemoryRecord

APP = "benchmark"
WHOLE = CorpusConfig(chunking=ChunkingConfig(chunk_size=100_000, overlap=0))
MODES = ("semantic", "keyword", "hybrid", "rrf")
_TOP = 10
_SEED = 7


class Bench:
    """A record and an index in a folder, with documents in corpora."""

    def __init__(
        self,
        encoder: Encoder,
        folder: Path,
        *,
        rerankers: Mapping[Reranking, Reranker] | None = None,
        record: SystemOfRecord | None = None,
    ) -> None:
        self._record, self._analyzer = record or InMemoryRecord(), KeywordAnalyzer()
        self.encoder = encoder
        self.index = EdgeVectors.open(folder, model_id=encoder.model_id, dimension=encoder.dimension)
        self._rerankers = rerankers or {}
        self.has_reranker = Reranking.LOCAL in self._rerankers
        self.corpora: dict[str, Corpus] = {}

    def search(self, *, across: bool) -> KnowledgeSearch:
        """The search, with the gap between languages or without."""
        return KnowledgeSearch(
            record=self._record,
            encoder=self.encoder,
            index=self.index,
            analyzer=self._analyzer,
            rerankers=self._rerankers,
            gap=language_gaps()[self.encoder.model_id] if across else None,
            spread=get_model(self.encoder.model_id).cosine_spread,
        )

    async def ingest(self, passages: Passages, config: CorpusConfig = WHOLE) -> None:
        """Ingests passages as documents of a new corpus, each known by its number."""
        corpus = await Corpora(self._record).create(passages.name, app=APP, config=config)
        self.corpora[passages.name] = corpus
        documents = [
            NewDocument(text.encode(), media_type="text/plain", source_uri=f"{passages.name}:{number}", metadata={})
            for number, text in enumerate(passages.texts)
        ]
        submitted = await Sources(self._record).submit(corpus.corpus_id, documents, app=APP)
        space = OneSpace(encoder=self.encoder, index=self.index)
        builder = SourceBuilder(
            record=self._record,
            indexer=Indexer(record=self._record, spaces=space, analyzer=self._analyzer),
            parser=FileParser(),
            similarity=EncodedSimilarity(space.live),
            claimed=frozenset,
            poll_s=0.01,
            now=lambda: datetime.now(UTC),
        )
        ingestion = Ingestion(record=self._record, builder=builder, wait_s=3600)
        ingestion.begin()
        for each in track(submitted, passages.name, console=Console(stderr=True), disable=not sys.stderr.isatty()):
            version = each.version
            finished = await ingestion.finish(version.source_id, version.version, app=APP)
            if finished is None or finished.error:
                raise RuntimeError(f"{version.source_uri} was not ingested: {finished and finished.error}")
        await ingestion.close()

    async def chunk_count(self, name: str) -> int:
        """The number of chunks of a corpus."""
        async with self._record.reading(user_id=app_owner(APP)) as unit:
            return await unit.knowledge.count(self.corpora[name].corpus_id)

    async def ranks(
        self, search: KnowledgeSearch, name: str, questions: Sequence[Asked], *, among: Sequence[str], **config: Any
    ) -> list[int | None]:
        """For each question the rank of its passage among the ten best, from 1; None where it is not there.

        Of an article the chunk with the answer is its passage.
        """
        ids = tuple(self.corpora[corpus].corpus_id for corpus in among)
        found: list[int | None] = []
        for question in questions:
            request = KnowledgeQuery(
                app=APP, query=question.text, corpus_ids=ids, config=SearchConfig(limit=_TOP, **config)
            )
            hits = (await search.search(request)).results
            right = [hit.source_uri == f"{name}:{question.gold}" and _holds(hit.content, question) for hit in hits]
            found.append(right.index(True) + 1 if True in right else None)
        return found


def figures(ranks: Sequence[int | None]) -> dict[str, float]:
    """Recall@1, recall@5 and nDCG@10 in percent."""
    found = [rank for rank in ranks if rank is not None]
    sums = {
        "recall@1": float(sum(rank == 1 for rank in found)),
        "recall@5": float(sum(rank <= 5 for rank in found)),
        "ndcg@10": sum(1 / math.log2(1 + rank) for rank in found),
    }
    return {"questions": len(ranks), **{name: round(100 * value / len(ranks), 1) for name, value in sums.items()}}


async def measure(sets: Sequence[Passages], bench: Bench, arguments: argparse.Namespace) -> dict[str, Any]:
    """The tables that were asked for."""
    *chinese, _ = sets
    asked = {each.name: _sample(each.questions, arguments) for each in sets}
    report: dict[str, Any] = {}
    search = bench.search(across=True)
    tables = set(arguments.tables.split(","))
    for passages in sets if tables & {"modes", "across"} else ():
        await bench.ingest(passages)
    await bench.encoder.encode([question.text for drawn in asked.values() for question in drawn], kind=TextKind.QUERY)
    rerankings = ("none", "local") if bench.has_reranker else ("none",)
    if "modes" in tables:
        report["modes"] = {
            f"{each.name}, reranking {reranking}": {
                mode: figures(
                    await bench.ranks(
                        search, each.name, asked[each.name], among=[each.name], mode=mode, reranking=reranking
                    )
                )
                for mode in MODES
            }
            for each in chinese
            for reranking in rerankings
        }
    if "across" in tables:
        report["across"] = {
            f"{mode}, {'with' if across else 'without'} the gap, reranking {reranking}": {
                name: figures(
                    await bench.ranks(
                        bench.search(across=across), name, asked[name], among=[*asked], mode=mode, reranking=reranking
                    )
                )
                for name in asked
            }
            for mode, across, reranking in (
                ("semantic", True, "none"),
                ("hybrid", False, "none"),
                *(("hybrid", True, reranking) for reranking in rerankings),
            )
        }
    if "chunkers" in tables:
        report["chunkers"] = {each.name: await _chunkers(each, bench, arguments) for each in chinese}
    return report


async def _chunkers(passages: Passages, bench: Bench, arguments: argparse.Namespace) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    articles = passages.as_articles()
    asked = _sample(articles.questions, arguments)
    for strategy in ChunkingStrategy:
        for size in (250, 500):
            name = f"{passages.name}, {strategy} {size}"
            chunking = ChunkingConfig(strategy=strategy, chunk_size=size)
            await bench.ingest(replace(articles, name=name), CorpusConfig(chunking=chunking))
            ranks = await bench.ranks(bench.search(across=True), name, asked, among=[name])
            rows[f"{strategy}, {size}"] = {**figures(ranks), "chunks": await bench.chunk_count(name)}
    return rows


def _holds(content: str, question: Asked) -> bool:
    return "".join(question.answer.split()) in "".join(content.split())


class KeptReranker(Reranker):
    """The reranker that ships, with the token vectors of a million tokens kept, so that a run reads a passage once."""

    def __init__(self, weights: Path, models: Path, *, threads: int) -> None:
        self._model = LateInteraction(weights, models, threads=threads)
        self._cache = token_vectors(max_tokens=1_000_000)

    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        """Its logits."""
        parts = self._model.parts()
        pairs = self._model.prepare([(query, passage) for passage in passages])
        return score_all(parts.network, pairs, pad_id=parts.pad_id, cache=self._cache)


def _sample(questions: Sequence[Asked], arguments: argparse.Namespace) -> list[Asked]:
    of_part = [each for each in questions if arguments.part == "all" or each.is_tuning is (arguments.part == "tune")]
    drawn = sorted(random.Random(_SEED).sample(range(len(of_part)), min(arguments.questions, len(of_part))))
    return [of_part[number] for number in drawn]


def _show(report: Mapping[str, Any]) -> None:
    for title, tables in report.items():
        table = Table("", "", "questions", "recall@1", "recall@5", "nDCG@10", title=title)
        for outer, rows in tables.items():
            for inner, row in rows.items():
                table.add_row(outer, inner, *map(str, row.values()))
        Console(width=120).print(table)


async def _run(arguments: argparse.Namespace) -> dict[str, Any]:
    engine = open_engine(
        get_model(DEFAULT_MODEL), prepare_model(DEFAULT_MODEL, arguments.models), threads=arguments.threads
    )
    encoder = KeptEncoder(engine, arguments.cache)
    rerankers: dict[Reranking, Reranker] = {}
    if arguments.reranking:
        weights = shipped_weight_file("reranker")
        rerankers[Reranking.LOCAL] = KeptReranker(weights, arguments.models, threads=arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(encoder, Path(folder), rerankers=rerankers)
        try:
            report = await measure(read_all(arguments.data), bench, arguments)
        finally:
            encoder.save()
        await bench.index.close()
    return report


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder of prepared weights")
    parser.add_argument("--cache", type=Path, required=True, help="an .npz that keeps vectors between runs")
    parser.add_argument("--questions", type=int, default=10_000, help="of each set, at most")
    parser.add_argument("--part", choices=("report", "tune", "all"), default="report")
    parser.add_argument("--tables", default="modes,across,chunkers")
    parser.add_argument("--reranking", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--threads", type=int, default=1)
    report = asyncio.run(_run(parser.parse_args()))
    _show(report)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
