"""The served engine beside other runtimes for the same weights: ONNX Runtime, OpenVINO, int8, bf16 (DESIGN §5).

Theory: all multiply the same matrices, and on a processor with AVX512-BF16 the arithmetic floor is half of fp32's. What
differs is the rest: padding (the served engine packs texts of all lengths, the others pad each batch to its longest
text), fused attention and normalisation, the price of a call. So fp32 runtimes should stand at half of bf16, and on one
short query the cheapest call wins. A runtime is worth a dependency where it is clearly ahead *and* passes the gate:
cosine at least 0.99 to fp32.

    python -m benchmarks.runtimes --cache MODELS --envs DIR --data FOLDER [--threads 1] [--rounds 5]

The gate reads passages of DRCD and CMRC2018. Each runtime has an environment of its own, which the first run installs;
all are loaded, and rounds go through them one after the other. Medians, and ratios within a round. The last line is
JSON.
"""

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.common.workload import mixed_texts, short_queries
from benchmarks.embedding.environments import ensure, versions
from benchmarks.embedding.peers import TORCH, Environment
from benchmarks.retrieval.corpora import read_corpora
from benchmarks.runtimes.contestant import RUNTIMES
from memory.ports.models.language import TextKind
from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.engine import EncoderEngine
from models.encoder.open_engine import open_engine
from models.encoder.text_tokenizer import TokenizedText

PACKAGES = ("transformers", "onnx", "onnxscript", "onnxruntime", "openvino")
ENVIRONMENT = Environment("runtimes", (TORCH, *PACKAGES), (*PACKAGES, "torch"))
OURS, REFERENCE = "ours", "transformers fp32"
ASKED, EVEN, MIXED = "queries, one by one", "32 of 32 tokens", "96 of mixed lengths"
TEXTS = {ASKED: 16, EVEN: 32, MIXED: 96}
"""Number of texts in each workload."""
_EVEN_TOKENS = 32
_PADDED_TOKENS = 2048
_GATE_COSINE, _GATE_PASSAGES = 0.99, 100

Timed = Callable[[str], float]
"""Runs a workload by its name; returns seconds."""


def main() -> None:
    """Measures every workload and prints a table and one JSON line."""
    arguments = _arguments()
    folder = prepare_model(DEFAULT_MODEL, arguments.cache)
    engine = open_engine(get_model(DEFAULT_MODEL), folder, threads=arguments.threads)
    workloads = _workloads(engine, arguments.data, arguments.rounds + 1)
    python = ensure(ENVIRONMENT, arguments.envs) / "python"
    seconds: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = scratch / "workloads.json"
        file.write_text(json.dumps({name: _batches(name, texts) for name, texts in workloads.items()}))
        contestants: dict[str, Timed] = {OURS: lambda name: _seconds(engine, name, workloads[name])}
        vectors = {OURS: _in_order(engine.forward(workloads["gate"]), workloads["gate"])}
        for number, runtime in enumerate(track(RUNTIMES, "loading")):
            saved = scratch / f"{number}.npy"
            command = [str(python), str(Path(__file__).with_name("contestant.py")), runtime]
            command += [str(folder), str(arguments.threads), str(file), str(saved)]
            contestants[runtime] = _started(command, stack)
            vectors[runtime] = np.load(saved)
        for number in track(range(arguments.rounds + 1), "rounds"):
            for workload in TEXTS:
                for name, timed in contestants.items():
                    taken = timed(f"{workload} {number}")
                    if number:  # the first warms up
                        seconds.setdefault(workload, {}).setdefault(name, []).append(taken)
    cosines = {name: float((rows * vectors[REFERENCE]).sum(1).min()) for name, rows in vectors.items()}
    _report(seconds, cosines, arguments)


def _workloads(engine: EncoderEngine, data: Path, rounds: int) -> dict[str, list[TokenizedText]]:
    """Other texts in every round, as people send them: a runtime that prepares itself for a shape meets new ones."""
    asked = engine.prepare(short_queries(rounds * TEXTS[ASKED]), TextKind.QUERY)
    mixed = engine.prepare(mixed_texts(rounds * TEXTS[MIXED]), TextKind.PASSAGE)
    long = [text for text in mixed if text.token_count >= _EVEN_TOKENS]
    even = [_cut(long[index % len(long)], _EVEN_TOKENS) for index in range(rounds * TEXTS[EVEN])]
    workloads = {"gate": engine.prepare(_passages(data), TextKind.PASSAGE)}
    for name, texts in ((ASKED, asked), (EVEN, even), (MIXED, mixed)):
        for number in range(rounds):
            workloads[f"{name} {number}"] = texts[number * TEXTS[name] : (number + 1) * TEXTS[name]]
    return workloads


def _passages(data: Path) -> list[str]:
    texts = []
    for corpus in islice(read_corpora(data), 2):
        texts += [resource.content for resource in random.Random(5).sample(corpus.resources, _GATE_PASSAGES)]
    return texts


def _cut(text: TokenizedText, tokens: int) -> TokenizedText:
    return TokenizedText(np.concatenate([text.input_ids[: tokens - 1], text.input_ids[-1:]]))


def _batches(name: str, texts: Sequence[TokenizedText]) -> list[list[list[int]]]:
    """By length, so that little is padded, and so many at once that the caches hold them; queries one by one."""
    if name.startswith(ASKED):
        return [[text.input_ids.tolist()] for text in texts]
    batches: list[list[list[int]]] = []
    for text in sorted(texts, key=lambda text: text.token_count):
        if not batches or (len(batches[-1]) + 1) * text.token_count > _PADDED_TOKENS:
            batches.append([])
        batches[-1].append(text.input_ids.tolist())
    return batches


def _in_order(rows: Any, texts: Sequence[TokenizedText]) -> Any:
    """Rows in the order in which the contestants get the texts."""
    return rows[sorted(range(len(texts)), key=lambda index: texts[index].token_count)]


def _seconds(engine: EncoderEngine, name: str, texts: Sequence[TokenizedText]) -> float:
    begin = time.perf_counter()
    for batch in [[text] for text in texts] if name.startswith(ASKED) else [texts]:
        engine.forward(batch)
    return time.perf_counter() - begin


def _started(command: list[str], stack: ExitStack) -> Timed:
    process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    stack.callback(process.kill)
    to_process, from_process = process.stdin, process.stdout
    assert to_process is not None and from_process is not None  # noqa: PT018 - PIPE above

    def timed(workload: str) -> float:
        to_process.write(f"{workload}\n")
        to_process.flush()
        return float(from_process.readline())

    while (line := from_process.readline()) != "ready\n":
        if not line:
            raise SystemExit(f"{command[2]} could not be started: its output says why")
    return timed


def _report(seconds: dict[str, dict[str, list[float]]], cosines: dict[str, float], arguments: Any) -> None:
    console = Console()
    table = Table(
        title=f"texts a second, {arguments.threads} threads; × ours [worst, best round]", title_justify="left"
    )
    table.add_column("runtime")
    for workload in seconds:
        table.add_column(workload, justify="right")
    table.add_column("lowest cosine", justify="right")
    results: dict[str, dict[str, Any]] = {}
    for name, cosine in cosines.items():
        results[name] = {"lowest_cosine": round(cosine, 5), "passes": cosine >= _GATE_COSINE}
        for workload, taken in seconds.items():
            ratios = [ours / theirs for ours, theirs in zip(taken[OURS], taken[name], strict=True)]
            results[name][workload] = {
                "per_s": round(TEXTS[workload] / statistics.median(taken[name]), 1),
                "over_ours": round(statistics.median(ratios), 2),
                "rounds": [round(min(ratios), 2), round(max(ratios), 2)],
            }
        cells = [results[name][workload] for workload in seconds]
        shown = [f"{cell['per_s']}  {cell['over_ours']} × {cell['rounds']}" for cell in cells]
        table.add_row(name, *shown, f"{cosine:.5f}")
    console.print(table)
    setup = {
        "threads": arguments.threads,
        "rounds": arguments.rounds,
        "versions": versions(ENVIRONMENT, arguments.envs),
    }
    print(json.dumps({"benchmark": "runtimes", **setup, "results": results}))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--envs", type=Path, required=True, help="folder in which environments are kept")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds `retrieval`")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
