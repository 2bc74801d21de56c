"""The encoder engines against plain sentence-transformers, in one process, at equal threads, on mixed texts.

What the served engine can win: padding, which it does not have; weights laid out for the processor; bf16 where the CPU
multiplies it. `benchmarks.embedding.roofline` says how far that is from what the machine can do; the reference
engine wins only
what grouping texts by length saves.

    python -m benchmarks.embedding.encoder --cache FOLDER [--threads 2] [--texts 192] [--repeats 5]

Rounds alternate between them, so that a machine that others use meanwhile disturbs all alike. Medians are reported;
the last line is JSON.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common.workload import QUERIES, mixed_texts, seconds
from memory.ports.models.language import TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.engine import EncoderEngine
from models.encoder.open_engine import open_engine
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine


def main() -> None:
    """Runs the benchmark and prints a table and one JSON line."""
    from rich.console import Console

    arguments = _arguments()
    console = Console()
    with console.status("loading"):
        engines, plain = _load(arguments.cache, arguments.threads)
        texts = mixed_texts(arguments.texts)
    lengths = [text.token_count for text in engines["engine"].prepare(texts, TextKind.PASSAGE)]
    entry = get_model(DEFAULT_MODEL)
    passages = [entry.passage_prefix + text for text in texts]
    queries = [entry.query_prefix + query for query in QUERIES]
    contestants: dict[str, tuple[Callable[[], Any], list[Callable[[], Any]]]] = {
        **{
            name: (
                partial(engine.encode, texts, TextKind.PASSAGE),
                [partial(engine.encode, [query], TextKind.QUERY) for query in QUERIES],
            )
            for name, engine in engines.items()
        },
        "sentence_transformers": (
            partial(plain.encode, passages, batch_size=32),
            [partial(plain.encode, [query]) for query in queries],
        ),
    }
    bulk: dict[str, list[float]] = {name: [] for name in contestants}
    single: dict[str, list[float]] = {name: [] for name in contestants}
    for repeat in range(arguments.repeats + 1):
        with console.status(f"round {repeat} of {arguments.repeats}"):
            for name, (encode_all, encode_each) in contestants.items():
                bulk_s = seconds(encode_all)
                single_s = [seconds(encode) for encode in encode_each]
                if repeat:  # the first round warms up
                    bulk[name].append(bulk_s)
                    single[name] += single_s

    tokens = sum(lengths)
    result = {
        "benchmark": "encoder",
        "model": DEFAULT_MODEL,
        "dtype": engines["engine"].dtype,
        "threads": arguments.threads,
        "texts": len(texts),
        "tokens": tokens,
        "length_median": statistics.median(lengths),
        "length_mean": round(statistics.mean(lengths), 1),
        "length_max": max(lengths),
        "tokens_per_s": {name: round(tokens / statistics.median(times)) for name, times in bulk.items()},
        "query_ms": {name: round(statistics.median(times) * 1e3, 1) for name, times in single.items()},
    }
    _print_table(console, result)
    print(json.dumps(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The encoder engine against plain sentence-transformers.")
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--texts", type=int, default=192)
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def _load(cache: Path, threads: int) -> tuple[dict[str, EncoderEngine], Any]:
    from sentence_transformers import SentenceTransformer

    folder, entry = prepare_model(DEFAULT_MODEL, cache), get_model(DEFAULT_MODEL)
    engines = {
        "engine": open_engine(entry, folder, threads=threads),
        "reference": SentenceTransformerEngine(entry, folder, threads=threads),
    }
    return engines, SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def _print_table(console: Any, result: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(
        title=f"{result['model']}, {result['dtype']}, {result['threads']} threads, {result['texts']} texts, "
        "half Chinese, half English; "
        f"tokens: median {result['length_median']:.0f}, mean {result['length_mean']}, longest {result['length_max']}",
    )
    for column in ("", "tokens/s", "of the reference", "one query, ms"):
        table.add_column(column, justify="left" if not column else "right")
    for name, rate in result["tokens_per_s"].items():
        share = rate / result["tokens_per_s"]["reference"]
        table.add_row(name.replace("_", "-"), f"{rate:,}", f"{share:.2f} ×", f"{result['query_ms'][name]}")
    console.print(table)


if __name__ == "__main__":
    main()
