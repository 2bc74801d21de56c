"""What facts cost from a thousand to a hundred thousand messages, of one user and of a thousand (002 §9.1).

    python -m benchmarks.facts_scale --home DIR [--sizes 1000 10000 100000] [--shapes one many] [--plot PNG] \
        [--cache MODELS] [--no-index]

Theory: learning a message reads what is known of its subject and predicate and, where a one-valued fact changes, the
latest 2,000 active facts for what hangs on it, so the rate is predicted to fall by half until there are 2,000 facts
and to stay there. `/context` counts a user's facts by category in an index, and `/retrieve` compares at most 2,000 of
them or searches the index: p95 stays under 100 ms for any number of messages. Jobs pass over all facts once: their
time grows with the facts, and is the same however many users have them. Disk grows by the message: 1 to 2 KiB in the
record and 2 KiB of vectors an item.

Everything is real but the two models: messages come with what the reader would find in them (`lives.py`), and vectors
are hashes of words, so that the models' time, which is the same for every message, is measured apart: `--cache` reads
some of these messages with the real reader. The domain runs in this process over SQLite and Qdrant Edge in `--home`,
as the service runs it. A size is reached by adding to the one before. The last line is JSON.
"""

import argparse
import asyncio
import json
import logging
import shutil
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import structlog
from more_itertools import chunked
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from typing_extensions import override

from benchmarks.facts_scale.lives import VERSION, Life, queries
from benchmarks.facts_scale.plot import draw
from memory.governance.accesses import AccessTally
from memory.indexing.generations import OneSpace, PerSpace
from memory.indexing.indexer import Indexer
from memory.language.keywords import KeywordAnalyzer
from memory.learning.learner import Learner
from memory.maintenance.fact_jobs import FactJobs, FactMaintenance
from memory.maintenance.merging import SimilarFacts
from memory.ports.jobs import MaintenanceKind, RunState
from memory.ports.models.language import Extractor, TokenCounter
from memory.ports.stores.generations import VectorSpace
from memory.retrieval.retriever import HybridRetriever
from memory.tiers.context import ContextBuilder, ContextRequest
from memory.tiers.fact_search import FactSearch
from memory.tiers.retrieval import TieredRequest, TieredRetrieval
from memory.tiers.summaries import ExtractiveWriter
from memory.values.base import utc_now
from memory.values.understanding.extractions import Extraction
from memory.values.understanding.readings import Context, ReadRequest
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.weight_files import shipped_weight_file
from models.reader.reader import BatchedReader, TrainedReader
from storage.edge.vectors import EdgeVectors
from storage.inmemory.coordination import InMemoryLocks
from storage.sqlite.record import SqliteRecord
from testing.fakes.encoder import FakeEncoder

USERS = {"one": 1, "many": 1_000}
_DIMENSION = 384
_APPENDED = 256
_MEASURED = 200
_READ = 256
_WIDTH = 150


@dataclass
class Figures:
    """What one size of one shape costs.

    Rates are of the messages added since the size before, `…_per_cpu_s` of processor seconds of this process with its
    threads: what is left of a rate where others use the machine too. Pairs are p50 and p95.
    """

    shape: str
    messages: int
    facts: int = 0
    append_per_s: float = 0.0
    learn_per_s: float = 0.0
    learn_per_cpu_s: float = 0.0
    index_per_s: float = 0.0
    context_ms: tuple[float, float] = (0.0, 0.0)
    retrieve_ms: tuple[float, float] = (0.0, 0.0)
    jobs_s: dict[str, float] = field(default_factory=dict)
    record_bytes: int = 0
    vectors_bytes: int = 0


class _Words(TokenCounter):
    """Counts words; no limit is asked for."""

    @override
    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class _Given(Extractor):
    """Finds nothing by itself: every message brings what was found in it."""

    @property
    @override
    def version(self) -> str:
        return VERSION

    @override
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        return [Extraction(version=VERSION) for _ in texts]


class System:
    """The domain over stores in a folder.

    Args:
        home: The folder.

    Attributes:
        now: The time at which retrieval and jobs take place: that of the last message.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.record = SqliteRecord.open(home / "record.sqlite", durable=False)
        self.index = EdgeVectors.open(home / "vectors", model_id=DEFAULT_MODEL, dimension=_DIMENSION)
        encoder = FakeEncoder(dimension=_DIMENSION, model_id=DEFAULT_MODEL)
        analyzer = KeywordAnalyzer()
        spaces = OneSpace(encoder=encoder, index=self.index)
        self.learner = Learner(
            record=self.record,
            extractor=_Given(),
            indexer=Indexer(record=self.record, spaces=spaces, analyzer=analyzer),
        )
        self.tally = AccessTally(self.record)
        self.contexts = ContextBuilder(record=self.record, tally=self.tally, tokens=_Words())

        def search_in(space: VectorSpace) -> FactSearch:
            return FactSearch(record=self.record, encoder=space.encoder, index=space.index, analyzer=analyzer)

        self.tiers = TieredRetrieval(
            record=self.record,
            contexts=self.contexts,
            facts=PerSpace(spaces, search_in).current,
            retriever=HybridRetriever(encoder=encoder, index=self.index, record=self.record, analyzer=analyzer),
        )
        bands = get_model(DEFAULT_MODEL).bands
        similar = SimilarFacts(encoder=encoder, bands=bands) if bands else None

        async def find_similar() -> SimilarFacts | None:
            return similar

        facts = FactMaintenance(record=self.record, writer=ExtractiveWriter(), similar=find_similar)
        self.now = utc_now()
        self.jobs = FactJobs(facts=facts, locks=InMemoryLocks(), schedules={}, now=lambda: self.now)

    async def close(self) -> None:
        """Writes what is pending and closes the files."""
        await self.tally.close()
        await self.jobs.close()
        await self.index.close()
        await self.record.close()


async def grow(system: System, lives: Sequence[Life], begin: int, end: int, figures: Figures, *, index: bool) -> None:
    """Adds the messages of all lives from one number to another, and learns them, a few of a user at a time.

    Args:
        system: Where they are added.
        lives: Whose messages.
        begin: The first message of each life.
        end: The one behind the last.
        figures: Gets the rates.
        index: Whether the vector index follows.
    """
    taken = dict.fromkeys(("append", "learn", "index"), 0.0)
    cpu_s = 0.0
    indexed = 0

    async def timed(step: str, work: Awaitable[object]) -> object:
        started = time.perf_counter()
        result = await work
        taken[step] += time.perf_counter() - started
        return result

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task: TaskID = progress.add_task(f"{figures.shape} to {figures.messages}", total=len(lives) * (end - begin))
        for life in lives:
            for resources in chunked(life.resources(begin, end), _APPENDED):
                await timed("append", system.record.append(resources, user_id=life.user_id))
                begin_cpu = time.process_time()
                await timed("learn", system.learner.learn(user_id=life.user_id, index=False))
                cpu_s += time.process_time() - begin_cpu
                if index:
                    indexed += int(str(await timed("index", system.learner.indexer.index(user_id=life.user_id))))
                progress.advance(task, len(resources))
    added = len(lives) * (end - begin)
    figures.append_per_s = round(added / taken["append"], 1)
    figures.learn_per_s = round(added / taken["learn"], 1)
    figures.learn_per_cpu_s = round(added / cpu_s, 1)
    figures.index_per_s = round(indexed / taken["index"], 1) if indexed else 0.0


async def measure(system: System, lives: Sequence[Life], figures: Figures) -> None:
    """Measures retrieval, the jobs, and what is on disk."""
    asked = list(zip(queries(_MEASURED), (lives[number % len(lives)] for number in range(_MEASURED)), strict=True))

    async def context(_: str, user_id: str) -> None:
        await system.contexts.build(ContextRequest(user_id=user_id, now=system.now))

    async def retrieve(query: str, user_id: str) -> None:
        await system.tiers.retrieve(TieredRequest(user_id=user_id, query=query, tiers=3, now=system.now))

    figures.context_ms = await _latency(context, asked)
    figures.retrieve_ms = await _latency(retrieve, asked)
    await system.tally.flush()
    for kind in MaintenanceKind:
        figures.jobs_s[kind.value] = await _run_job(system, kind)
    counts = await system.record.backlog.counts()
    figures.facts = counts["facts"]
    figures.record_bytes = sum(path.stat().st_size for path in system.home.glob("record.sqlite*"))
    figures.vectors_bytes = sum(path.stat().st_blocks * 512 for path in (system.home / "vectors").rglob("*"))


async def _latency(
    call: Callable[[str, str], Awaitable[None]], asked: Sequence[tuple[str, Life]]
) -> tuple[float, float]:
    times = []
    for query, life in [*asked[:5], *asked]:
        started = time.perf_counter()
        await call(query, life.user_id)
        times.append(1e3 * (time.perf_counter() - started))
    warm = times[5:]
    return round(statistics.median(warm), 2), round(statistics.quantiles(warm, n=20)[-1], 2)


async def _run_job(system: System, kind: MaintenanceKind) -> float:
    """Runs a job over everybody; returns its seconds."""
    started = time.perf_counter()
    await system.jobs.start(kind)
    while True:
        run = await system.jobs.last_run(kind)
        if run is not None and run.state is not RunState.RUNNING:
            break
        await asyncio.sleep(0.02)
    if run.state is RunState.FAILED:
        sys.exit(f"{kind}: {run.error}")
    return round(time.perf_counter() - started, 2)


async def run_shape(
    shape: str, sizes: Sequence[int], home: Path, *, index: bool, users: int | None = None
) -> list[Figures]:
    """The figures of every size of a shape, in a new folder."""
    shutil.rmtree(home, ignore_errors=True)
    system = System(home)
    count = users or USERS[shape]
    until = utc_now()
    lives = [Life(f"user-{number:04}", max(sizes) // count, until) for number in range(count)]
    rows, begin = [], 0
    try:
        for size in sizes:
            figures = Figures(shape, size)
            await grow(system, lives, begin, size // count, figures, index=index)
            system.now = lives[0].said_at(size // count)
            await measure(system, lives, figures)
            rows.append(figures)
            begin = size // count
    finally:
        await system.close()
    return rows


async def reader_per_s(cache: Path, *, threads: int) -> float:
    """Messages a second that the real reader reads."""
    reader = BatchedReader(TrainedReader(shipped_weight_file("reader"), cache, threads=threads))
    life = Life("reader", _READ, utc_now())
    requests = [ReadRequest(text=resource.content) for resource in life.resources(0, _READ)]
    await reader.read(requests[:32])
    started = time.perf_counter()
    for batch in chunked(requests, 64):
        await reader.read(batch)
    return round(len(requests) / (time.perf_counter() - started), 1)


async def main() -> None:
    """Prints a table and, last, one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="folder for the stores, emptied before and after")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="messages, growing")
    parser.add_argument("--shapes", nargs="+", choices=list(USERS), default=list(USERS))
    parser.add_argument("--no-index", action="store_true", help="leave the vector index empty")
    parser.add_argument("--cache", type=Path, help="folder of prepared models: measures the real reader, too")
    parser.add_argument("--threads", type=int, default=2, help="of the real reader")
    parser.add_argument("--plot", type=Path, help="file for the picture")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    begin = time.perf_counter()
    rows = []
    for shape in arguments.shapes:
        home = arguments.home / shape
        rows += await run_shape(shape, sorted(arguments.sizes), home, index=not arguments.no_index)
        shutil.rmtree(home)
    read = await reader_per_s(arguments.cache, threads=arguments.threads) if arguments.cache else None
    Console(width=_WIDTH).print(_table(rows))
    if arguments.plot:
        draw(rows, arguments.plot)
    result = {"benchmark": "facts_scale", "took_s": round(time.perf_counter() - begin), "reader_messages_per_s": read}
    print(json.dumps(result | {"rows": [asdict(row) for row in rows]}))


def _table(rows: Sequence[Figures]) -> Table:
    table = Table(title="Facts by number of messages, without the models", title_justify="left")
    for column in (
        "users",
        "messages",
        "facts",
        "learned/s",
        "indexed/s",
        "/context p50, p95 ms",
        "/retrieve p50, p95 ms",
    ):
        table.add_column(column, justify="right")
    for column in (*(f"{kind} s" for kind in MaintenanceKind), "record MiB", "vectors MiB"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            str(USERS[row.shape]),
            *(f"{value:,.0f}" for value in (row.messages, row.facts, row.learn_per_s, row.index_per_s)),
            *("{:.1f}, {:.1f}".format(*pair) for pair in (row.context_ms, row.retrieve_ms)),
            *(f"{row.jobs_s[kind.value]:.1f}" for kind in MaintenanceKind),
            *(f"{size / 2**20:.1f}" for size in (row.record_bytes, row.vectors_bytes)),
        )
    return table


if __name__ == "__main__":
    asyncio.run(main())
