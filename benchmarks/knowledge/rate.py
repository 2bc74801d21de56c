"""Measures ingestion in chunks a second, as a share of what the encoder alone computes.

    python -m benchmarks.knowledge.rate DATA --models FOLDER [--paragraphs 200] [--rounds 3]

One document of paragraphs of DRCD is ingested as the service does it: cut, stored in SQLite, embedded through the
batcher, written to the embedded index; then the engine alone encodes the same chunks, in batches of 64. Both take turns
in this process, and the medians are compared. What ingestion adds (storing, terms, points) takes about 1 ms a chunk and
the encoder 40 to 80, so that a share of at least 0.9 is predicted. The last line is JSON.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.knowledge.corpora import Passages, read_all
from benchmarks.knowledge.quality import APP, Bench
from memory.ports.models.language import TextKind
from memory.values.access.identity import app_owner
from memory.values.documents.corpora import CorpusConfig
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.batched_encoder import BatchedEncoder
from models.encoder.engine import EncoderEngine
from models.encoder.open_engine import open_engine
from storage.sqlite.record import SqliteRecord

_BATCH = 64


def raw_s(engine: EncoderEngine, texts: list[str]) -> float:
    """Seconds in which the engine encodes the texts."""
    begin = time.perf_counter()
    for start in range(0, len(texts), _BATCH):
        engine.encode(texts[start : start + _BATCH], TextKind.PASSAGE)
    return time.perf_counter() - begin


async def ingested_s(engine: EncoderEngine, document: Passages) -> tuple[float, list[str]]:
    """Seconds from the first document to the last chunk that is found, and the chunks."""
    with tempfile.TemporaryDirectory() as folder:
        record = SqliteRecord.open(Path(folder) / "record.sqlite")
        bench = Bench(BatchedEncoder(engine), Path(folder) / "vectors", record=record)
        begin = time.perf_counter()
        await bench.ingest(document, CorpusConfig())
        took_s = time.perf_counter() - begin
        async with record.reading(user_id=app_owner(APP)) as unit:
            texts = [chunk.content for chunk in await unit.knowledge.page(limit=10_000)]
        await bench.index.close()
        await record.close()
    return took_s, texts


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder of prepared weights")
    parser.add_argument("--paragraphs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    engine = open_engine(
        get_model(DEFAULT_MODEL), prepare_model(DEFAULT_MODEL, arguments.models), threads=arguments.threads
    )
    drcd, *_ = read_all(arguments.data)
    document = replace(drcd, texts=["\n\n".join(drcd.texts[: arguments.paragraphs])])
    _, texts = asyncio.run(ingested_s(engine, document))  # warms up
    rounds = [(asyncio.run(ingested_s(engine, document))[0], raw_s(engine, texts)) for _ in range(arguments.rounds)]
    ingested, raw = (statistics.median(column) for column in zip(*rounds, strict=True))
    report = {
        "chunks": len(texts),
        "ingested_chunks_per_s": round(len(texts) / ingested, 1),
        "raw_chunks_per_s": round(len(texts) / raw, 1),
        "share": round(raw / ingested, 3),
        "rounds_s": [[round(value, 2) for value in pair] for pair in rounds],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
