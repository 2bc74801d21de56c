"""Writes the pools that a reranker is trained and measured on: what the service's own retrieval finds.

Usage:
    python -m benchmarks.retrieval.reranking DATA --cache MODELS --work DIR
DATA is the folder with `retrieval`, `memory` and `rewriting`. Every set goes through the learner into the embedded
vector index and is asked for with the service's hybrid retriever, with and without the longer list that a reranker
gets. DIR gets `pools.jsonl` and `vectors.npz`, so that a second run computes nothing twice. Then:
    python -m training.reranker.evaluate DIR/pools.jsonl
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.progress import track

from benchmarks.retrieval.corpora import Corpus, read_corpora
from memory.indexing.generations import OneSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.ports.models.language import Encoder, Extractor, FloatMatrix, Priority, TextKind
from memory.retrieval.reranking import RERANKING, passage_of
from memory.retrieval.retriever import HybridRetriever
from memory.values.hits import HitKind, SearchRequest
from memory.values.ids import memory_id
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.engine import EncoderEngine
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from storage.edge.vectors import EdgeVectors
from storage.inmemory.record import InMemoryRecord
from training.reranker.pools import Candidate, Pool, write_pools

_NOW = datetime(2026, 11, 1, tzinfo=UTC)
_ENCODED_AT_ONCE = 128


class NothingExtractor(Extractor):
    """Finds nothing: only memories are asked for."""

    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        """One empty extraction a text."""
        return [Extraction() for _ in texts]


class KeptEncoder(Encoder):
    """An encoder that remembers vectors over runs."""

    def __init__(self, engine: EncoderEngine, path: Path) -> None:
        self._engine = engine
        self._path = path
        self._known: dict[str, np.ndarray] = {}
        if path.exists():
            with np.load(path) as kept:
                self._known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    @property
    def model_id(self) -> str:
        """Of the engine."""
        return self._engine.model_id

    @property
    def dimension(self) -> int:
        """Of the engine."""
        return self._engine.dimension

    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        """Known vectors; the others are computed together and remembered."""
        names = [f"{kind}:{text}" for text in texts]
        new = sorted({name: text for name, text in zip(names, texts, strict=True) if name not in self._known}.items())
        if new:
            vectors = self._engine.encode([text for _, text in new], kind)
            self._known.update(zip((name for name, _ in new), vectors, strict=True))
        return np.stack([self._known[name] for name in names])

    def save(self) -> None:
        """Keeps what is known."""
        np.savez(self._path, texts=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))


async def pools_of(corpus: Corpus, encoder: KeptEncoder, folder: Path) -> list[Pool]:
    """Stores a corpus and asks its questions."""
    record, analyzer = InMemoryRecord(), KeywordAnalyzer()
    index = EdgeVectors.open(folder, model_id=encoder.model_id, dimension=encoder.dimension)
    learner = Learner(
        record=record,
        extractor=NothingExtractor(),
        indexer=Indexer(record=record, spaces=OneSpace(encoder=encoder, index=index), analyzer=analyzer),
    )
    await record.append(corpus.resources, user_id=corpus.user)
    await learner.learn(user_id=corpus.user)
    retriever = HybridRetriever(encoder=encoder, index=index, record=record, analyzer=analyzer)
    questions = [question.text for question in corpus.questions]
    for start in range(0, len(questions), _ENCODED_AT_ONCE):
        await encoder.encode(questions[start : start + _ENCODED_AT_ONCE], kind=TextKind.QUERY)
    encoder.save()
    pools = []
    for question in track(corpus.questions, corpus.user, disable=not sys.stderr.isatty()):
        gold = {memory_id(corpus.user, resource) for resource in question.gold}
        served, longer = [
            (
                await retriever.search(
                    SearchRequest(
                        query=question.text, user_id=corpus.user, top_k=top_k, kinds=(HitKind.MEMORY,), now=_NOW
                    )
                )
            ).hits
            for top_k in (10, RERANKING.candidates)
        ]
        async with record.reading(user_id=corpus.user) as unit:
            memories = {memory.memory_id: memory for memory in await unit.memories.get([hit.id for hit in longer])}
        candidates = tuple(
            Candidate(passage_of(hit, memories.get(hit.id)), hit.score, hit.id in gold) for hit in longer
        )
        pools.append(
            Pool(
                data_set=corpus.data_set,
                group=question.group,
                kind=question.kind,
                question=question.text,
                gold=len(gold),
                served=tuple(hit.id in gold for hit in served),
                candidates=candidates,
            )
        )
    await index.close()
    return pools


async def _all_pools(data: Path, encoder: KeptEncoder, names: Sequence[str]) -> list[Pool]:
    pools: list[Pool] = []
    for corpus in _wanted(data, names):
        with tempfile.TemporaryDirectory() as folder:
            pools += await pools_of(corpus, encoder, Path(folder))
        print(f"{corpus.user}: {len(corpus.resources)} passages, {len(corpus.questions)} questions", file=sys.stderr)
    return pools


def _wanted(data: Path, names: Sequence[str]) -> Iterator[Corpus]:
    return (corpus for corpus in read_corpora(data) if not names or corpus.data_set in names)


def main() -> None:
    """Writes the pools."""
    parser = argparse.ArgumentParser(description="Writes what retrieval finds for the questions of all sets.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--work", type=Path, required=True, help="gets pools.jsonl and vectors.npz")
    parser.add_argument("--sets", nargs="*", default=[], help="all unless named")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    engine = SentenceTransformerEngine(
        get_model(DEFAULT_MODEL), prepare_model(DEFAULT_MODEL, arguments.cache), threads=arguments.threads
    )
    encoder = KeptEncoder(engine, arguments.work / "vectors.npz")
    pools = asyncio.run(_all_pools(arguments.data, encoder, arguments.sets))
    write_pools(arguments.work / "pools.jsonl", pools)


if __name__ == "__main__":
    main()
