"""The encoder engine against plain sentence-transformers, in one process, at equal threads.

Theory: the body of multilingual-e5-small takes 42.5 MFLOP a token plus 18,432 x length for attention (SERVING §2), so
a machine that multiplies matrices at F FLOP/s computes at most F / 44.8M tokens a second at length 128; padding,
layer norms and memory traffic take their share. What the engine can win over sentence-transformers is padding: it
groups texts by length as far as that saves more than another pass costs, where the other cuts batches of 32.

    python -m benchmarks.encoder --cache FOLDER [--threads 2] [--texts 192] [--repeats 5]

Rounds alternate between the two, so that a machine that others use meanwhile disturbs both alike. Medians are
reported; the last line is JSON.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory.ports.language import TextKind
from models.catalog import DEFAULT_MODEL, get_model
from models.prepare import prepare_model
from models.sentence_transformer_engine import SentenceTransformerEngine

from .workload import QUERIES, ceiling_tokens_per_s, matmul_flops, mixed_texts, seconds


def main() -> None:
    """Runs the benchmark and prints a table and one JSON line."""
    from rich.console import Console

    arguments = _arguments()
    console = Console()
    with console.status("loading"):
        engine, plain = _load(arguments.cache, arguments.threads)
        texts = mixed_texts(arguments.texts)
    lengths = [text.token_count for text in engine.prepare(texts, TextKind.PASSAGE)]
    entry = get_model(DEFAULT_MODEL)
    passages = [entry.passage_prefix + text for text in texts]
    queries = [entry.query_prefix + query for query in QUERIES]
    contestants: dict[str, tuple[Callable[[], Any], list[Callable[[], Any]]]] = {
        "engine": (
            lambda: engine.encode(texts, TextKind.PASSAGE),
            [lambda query=query: engine.encode([query], TextKind.QUERY) for query in QUERIES],
        ),
        "sentence_transformers": (
            lambda: plain.encode(passages, batch_size=32),
            [lambda query=query: plain.encode([query]) for query in queries],
        ),
    }
    flops: list[float] = []
    bulk: dict[str, list[float]] = {name: [] for name in contestants}
    single: dict[str, list[float]] = {name: [] for name in contestants}
    for repeat in range(arguments.repeats + 1):
        with console.status(f"round {repeat} of {arguments.repeats}"):
            measured_flops = matmul_flops()
            for name, (encode_all, encode_each) in contestants.items():
                bulk_s = seconds(encode_all)
                single_s = [seconds(encode) for encode in encode_each]
                if repeat:  # the first round warms up
                    bulk[name].append(bulk_s)
                    single[name] += single_s
            flops.append(measured_flops)

    tokens, mean = sum(lengths), statistics.mean(lengths)
    ceiling = ceiling_tokens_per_s(statistics.median(flops[1:]), mean)
    result = {
        "benchmark": "encoder",
        "model": DEFAULT_MODEL,
        "threads": arguments.threads,
        "texts": len(texts),
        "tokens": tokens,
        "length_median": statistics.median(lengths),
        "length_mean": round(mean, 1),
        "length_max": max(lengths),
        "matmul_gflops": round(statistics.median(flops[1:]) / 1e9, 1),
        "ceiling_tokens_per_s": round(ceiling),
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


def _load(cache: Path, threads: int) -> tuple[SentenceTransformerEngine, Any]:
    from sentence_transformers import SentenceTransformer

    folder = prepare_model(DEFAULT_MODEL, cache)
    engine = SentenceTransformerEngine(get_model(DEFAULT_MODEL), folder, threads=threads)
    return engine, SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def _print_table(console: Any, result: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(
        title=f"{result['model']}, fp32, {result['threads']} threads, {result['texts']} texts, "
        "half Chinese, half English; "
        f"tokens: median {result['length_median']:.0f}, mean {result['length_mean']}, longest {result['length_max']}",
    )
    for column in ("", "tokens/s", "of the ceiling", "one query, ms"):
        table.add_column(column, justify="left" if not column else "right")
    for name, rate in result["tokens_per_s"].items():
        share = rate / result["ceiling_tokens_per_s"]
        table.add_row(name.replace("_", "-"), f"{rate:,}", f"{share:.0%}", f"{result['query_ms'][name]}")
    ceiling = f"ceiling: matmul at {result['matmul_gflops']} GFLOP/s"
    table.add_row(ceiling, f"{result['ceiling_tokens_per_s']:,}", "100%", "")
    console.print(table)


if __name__ == "__main__":
    main()
