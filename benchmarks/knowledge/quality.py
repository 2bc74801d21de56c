"""Measures what search in the knowledge base finds: recall@1, recall@5 and nDCG@10 of each mode, and across languages.

    python -m benchmarks.knowledge.quality DATA --models FOLDER --cache FILE [--questions 1000] [--reranked 200]

DATA is the folder with `retrieval` and `rewriting`. Every paragraph is ingested as a document of one chunk, by the
service's own ingestion into the embedded vector index, and asked for by its own search, in this process. One passage is
right for a question, so that nDCG@10 is `1 / log2(1 + rank)`.

- `modes`: DRCD (Traditional) and half of CMRC2018 (Simplified), each in a corpus of its own; with reranking the first
  `--reranked` questions.
- `across`: Chinese questions about English passages in one search over the three corpora, by meaning alone and hybrid,
  with and without the gap between languages; and what the gap costs DRCD and CMRC2018 in that same search.

The last line is JSON. A random ranking of N passages has a recall@1 of 1/N; no mode can lose what its legs both find
first.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
from memory.knowledge.sources import NewDocument, Sources
from memory.language.keywords import KeywordAnalyzer
from memory.ports.models.language import Reranker, TextKind
from memory.values.documents.corpora import Corpus, CorpusConfig, KnowledgeQuery, Reranking, SearchConfig
from memory.values.documents.knowledge import ChunkingConfig
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.language_gaps import language_gaps
from models.assets.prepare import prepare_model
from models.encoder.open_engine import open_engine
from storage.edge.vectors import EdgeVectors
from storage.inmemory.record import InMemoryRecord

APP = "benchmark"
WHOLE = CorpusConfig(chunking=ChunkingConfig(chunk_size=100_000, overlap=0))
MODES = ("semantic", "keyword", "hybrid", "rrf")
_TOP = 10
_SEED = 7


class Bench:
    """A record and an index in a folder, with documents in corpora."""

    def __init__(self, encoder: KeptEncoder, folder: Path, rerankers: Mapping[Reranking, Reranker]) -> None:
        self._record, self._analyzer = InMemoryRecord(), KeywordAnalyzer()
        self.encoder = encoder
        self.index = EdgeVectors.open(folder, model_id=encoder.model_id, dimension=encoder.dimension)
        self._rerankers = rerankers
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
            similarity=None,
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

    async def ranks(
        self, search: KnowledgeSearch, name: str, questions: Sequence[Asked], *, among: Sequence[str], **config: Any
    ) -> list[int | None]:
        """For each question the rank of its passage among the ten best, from 1; None where it is not there."""
        ids = tuple(self.corpora[corpus].corpus_id for corpus in among)
        found: list[int | None] = []
        for question in questions:
            request = KnowledgeQuery(
                app=APP, query=question.text, corpus_ids=ids, config=SearchConfig(limit=_TOP, **config)
            )
            uris = [hit.source_uri for hit in (await search.search(request)).results]
            gold = f"{name}:{question.gold}"
            found.append(uris.index(gold) + 1 if gold in uris else None)
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


async def measure(sets: Sequence[Passages], bench: Bench, *, questions: int, reranked: int) -> dict[str, Any]:
    """The two tables."""
    *chinese, english = sets
    asked = {each.name: _sample(each.questions, questions) for each in chinese} | {english.name: english.questions}
    everything = [question.text for drawn in asked.values() for question in drawn]
    for passages in sets:
        await bench.ingest(passages)
    await bench.encoder.encode(everything, kind=TextKind.QUERY)
    bench.encoder.save()
    report: dict[str, Any] = {"modes": {}, "across": {}}
    within = bench.search(across=True)
    for each in chinese:
        rows = {
            mode: figures(await bench.ranks(within, each.name, asked[each.name], among=[each.name], mode=mode))
            for mode in MODES
        }
        if reranked:
            some = asked[each.name][:reranked]
            for reranking in ("none", "local"):
                ranks = await bench.ranks(within, each.name, some, among=[each.name], reranking=reranking)
                rows[f"hybrid, first {len(some)}, reranking {reranking}"] = figures(ranks)
        report["modes"][each.name] = rows
    names = [each.name for each in sets]
    for mode in ("semantic", "hybrid"):
        for across in (False, True):
            search = bench.search(across=across)
            report["across"][f"{mode}, {'with' if across else 'without'} the gap"] = {
                name: figures(await bench.ranks(search, name, asked[name], among=names, mode=mode)) for name in names
            }
    return report


def _sample(questions: Sequence[Asked], limit: int) -> list[Asked]:
    drawn = sorted(random.Random(_SEED).sample(range(len(questions)), min(limit, len(questions))))
    return [questions[number] for number in drawn]


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
    if arguments.reranked:
        from deployments.builders.models.language import open_reranker
        from deployments.config.settings import AppArgs

        args = AppArgs.model_validate({"models": {"reranker": "builtin"}, "cache": str(arguments.models)})
        rerankers[Reranking.LOCAL] = open_reranker(args)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(encoder, Path(folder), rerankers)
        report = await measure(
            read_all(arguments.data), bench, questions=arguments.questions, reranked=arguments.reranked
        )
        await bench.index.close()
    return report


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder of prepared weights")
    parser.add_argument("--cache", type=Path, required=True, help="an .npz that keeps vectors between runs")
    parser.add_argument("--questions", type=int, default=1_000, help="of each Chinese set, at most")
    parser.add_argument("--reranked", type=int, default=200, help="questions with reranking; 0 leaves it out")
    parser.add_argument("--threads", type=int, default=1)
    report = asyncio.run(_run(parser.parse_args()))
    _show(report)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
