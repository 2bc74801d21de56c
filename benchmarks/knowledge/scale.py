"""Measures the knowledge index as it grows: building, search by mode, disk and memory, at each size.

    python -m benchmarks.knowledge.scale DATA --vectors FILE --home FOLDER [--chunks 10000,100000] [--searches 50]
        [--plot PNG]

Encoding a million chunks takes hours on two cores, so chunks are made from real ones: the vector of a passage of DRCD
or CMRC2018 (`--vectors`, the cache of `benchmarks.knowledge.quality`) with noise of the size of the distance to its
nearest neighbour, and the weighted terms of that passage. They go into the embedded index as ingestion writes them, in
batches of 64 to one owner, and queries of the same sets search it. A run that was ended goes on where it was: the
points that FOLDER has stay, and the rows of earlier sizes are kept in it. Measured are the legs of a search, which is
what grows; encoding the query, fusion and reading the ten hits do not depend on the size.

The embedded engine compares a query with every vector of its owner: `size · dimension · 4` bytes are read, so that a
million chunks need 1.5 GB and, at 10 GB/s, 150 ms. Across languages each search runs twice, the second time over the
texts in other languages. Keyword search walks the postings of the query's terms, which grow in proportion, too: with
3.5 ms at 100,000, 35 ms are predicted for a million. Processor times are those of this process: what is left of a wall
time where others use the machine, too. The last line is JSON.
"""

import argparse
import asyncio
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.knowledge.corpora import read_all
from memory.knowledge.fusing import HYBRID
from memory.language.keywords import KeywordAnalyzer
from memory.ports.stores.vectors import LANGUAGE, Collection, FloatVector, IndexPoint, IndexQuery
from memory.retrieval.legs import search_across_languages
from memory.values.vectors import LanguageGroup, SparseVector
from models.assets.catalog import DEFAULT_MODEL
from models.assets.language_gaps import language_gaps
from storage.edge.vectors import EdgeVectors

OWNER = "benchmark"
_BATCH = 64
_LIMIT = 50
_SEED = 7
_MIB = 2**20

Vectors = npt.NDArray[np.float32]


class Pool:
    """Real passages and queries with their vectors and terms."""

    def __init__(self, data: Path, vectors: Path) -> None:
        with np.load(vectors) as kept:
            known = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
        analyzer, sets = KeywordAnalyzer(), read_all(data)
        passages = [text for each in sets for text in each.texts if f"passage:{text}" in known]
        asked = [question.text for each in sets for question in each.questions]
        self.queries = [text for text in asked if f"query:{text}" in known]
        self.vectors: Vectors = np.stack([known[f"passage:{text}"] for text in passages])  # (passages, dimension)
        self.terms = [analyzer.document_vector(text) for text in passages]
        self.languages = [LanguageGroup.of(text).value for text in passages]
        self.query_vectors: Vectors = np.stack([known[f"query:{text}"] for text in self.queries])
        self.query_terms = [analyzer.query_vector(text) for text in self.queries]
        cosines = self.vectors @ self.vectors.T
        np.fill_diagonal(cosines, -1.0)
        distance = np.sqrt(2 - 2 * np.minimum(cosines.max(axis=1), 1.0))  # (passages,), between unit vectors
        self.noise = distance / np.sqrt(self.vectors.shape[1])  # a standard deviation a coordinate

    def points(self, start: int, stop: int) -> Iterator[IndexPoint]:
        """The chunks of these numbers."""
        for number in range(start, stop):
            place = number % len(self.terms)
            rng = np.random.default_rng((_SEED, number))
            vector = self.vectors[place] + rng.normal(0, self.noise[place], self.vectors.shape[1])
            yield IndexPoint(
                point_id=str(uuid.UUID(int=number)),
                dense=(vector / np.linalg.norm(vector)).astype(np.float32),
                sparse=self.terms[place],
                created_at_s=float(number),
                payload={
                    "corpus_id": "corpus",
                    "source_id": f"source-{number // 100}",
                    "chunk_index": number % 100,
                    LANGUAGE: self.languages[place],
                },
            )


def queries_of(mode: str, dense: FloatVector, terms: SparseVector) -> list[IndexQuery]:
    """The searches that a mode makes in one corpus."""
    where = {"corpus_id": "corpus"}
    semantic = IndexQuery(Collection.KNOWLEDGE, _LIMIT, dense=dense, where=where)
    keyword = IndexQuery(Collection.KNOWLEDGE, _LIMIT, sparse=terms, where=where)
    return {"semantic": [semantic], "keyword": [keyword]}.get(mode, [semantic, keyword])


async def search_times(index: EdgeVectors, pool: Pool, mode: str, searches: int) -> dict[str, float]:
    """Wall milliseconds at the median and the 95th percentile, and processor milliseconds of a search."""
    gap = language_gaps()[DEFAULT_MODEL].reduced(HYBRID.across)
    chosen = np.random.default_rng(_SEED).integers(len(pool.queries), size=searches)
    walls: list[float] = []
    begin_cpu = time.process_time()
    for place in chosen:
        queries = queries_of(mode, pool.query_vectors[place], pool.query_terms[place])
        begin = time.perf_counter()
        await search_across_languages(index, queries, gap=gap, user_id=OWNER)
        walls.append((time.perf_counter() - begin) * 1e3)
    p50, p95 = np.quantile(walls, [0.5, 0.95])
    cpu_ms = (time.process_time() - begin_cpu) * 1e3 / searches
    return {"p50_ms": round(float(p50), 1), "p95_ms": round(float(p95), 1), "cpu_ms": round(cpu_ms, 1)}


def bytes_in(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


async def measure(pool: Pool, home: Path, sizes: Sequence[int], searches: int) -> list[dict[str, Any]]:
    """One row for each size; the index grows from one to the next."""
    index = EdgeVectors.open(home, model_id=DEFAULT_MODEL, dimension=pool.vectors.shape[1])
    log = home / "rows.jsonl"
    rows: list[dict[str, Any]] = []
    if log.exists():
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        sizes = [size for size in sizes if size not in {row["chunks"] for row in rows}]
    written = await index.count(Collection.KNOWLEDGE, user_id=OWNER)
    for size in sizes:
        begin, begin_cpu, before = time.perf_counter(), time.process_time(), written
        steps = range(written, size, _BATCH)
        for start in track(steps, f"{size:,} chunks", console=Console(stderr=True), disable=not steps):
            points = list(pool.points(start, min(size, start + _BATCH)))
            await index.upsert(Collection.KNOWLEDGE, points, user_id=OWNER)
        written = max(size, written)
        await index.flush()
        row: dict[str, Any] = {
            "chunks": size,
            "added": written - before,
            "build_s": round(time.perf_counter() - begin, 1),
            "build_cpu_s": round(time.process_time() - begin_cpu, 1),
        }
        for mode in ("semantic", "keyword", "hybrid"):  # the legs of rrf are those of hybrid
            row[mode] = await search_times(index, pool, mode, searches)
        row["disk_mib"] = round(bytes_in(home) / _MIB)
        row["rss_mib"] = round(psutil.Process().memory_info().rss / _MIB)
        rows.append(row)
        with log.open("a", encoding="utf-8") as file:
            print(json.dumps(row), file=file)
    await index.close()
    return rows


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draws the latencies and what the index takes, by size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (times, space) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes = [row["chunks"] for row in rows]
    for mode in ("semantic", "keyword", "hybrid"):
        [line] = times.plot(sizes, [row[mode]["p50_ms"] for row in rows], marker="o", label=f"{mode}, p50")
        times.plot(sizes, [row[mode]["p95_ms"] for row in rows], "--", color=line.get_color(), label=f"{mode}, p95")
    for name, label in (("disk_mib", "disk"), ("rss_mib", "memory")):
        space.plot(sizes, [row[name] for row in rows], marker="o", label=label)
    for axis, title in ((times, "search, ms"), (space, "MiB")):
        axis.set(xscale="log", yscale="log", xlabel="chunks", title=title)
        axis.grid(visible=True, alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, required=True, help="the cache of benchmarks.knowledge.quality")
    parser.add_argument("--home", type=Path, required=True, help="gets the index; one that is there grows")
    parser.add_argument("--chunks", default="10000,100000", help="sizes in rising order")
    parser.add_argument("--searches", type=int, default=50, help="searches of each mode at each size")
    parser.add_argument("--plot", type=Path, help="file for the picture")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.chunks.split(",")]
    pool = Pool(arguments.data, arguments.vectors)
    rows = asyncio.run(measure(pool, arguments.home, sizes, arguments.searches))
    modes = ("semantic", "keyword", "hybrid")
    table = Table("chunks", "build, s", *(f"{mode}: p50, p95, processor ms" for mode in modes), "disk, MiB", "RSS, MiB")
    for row in rows:
        times = [", ".join(str(value) for value in row[mode].values()) for mode in modes]
        table.add_row(*map(str, (row["chunks"], row["build_s"], *times, row["disk_mib"], row["rss_mib"])))
    Console(width=160).print(table)
    if arguments.plot:
        draw(rows, arguments.plot)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
