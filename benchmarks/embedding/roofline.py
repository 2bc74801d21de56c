"""How far the encoder engines are from what the machine can do, by the shape of the batch.

Two floors, for the body of multilingual-e5-small (SERVING §2). Arithmetic: 42.5 MFLOP a token plus 18,432 x length for
attention, at the speed measured on the body's own products. Memory: the layers' weights, 42 MB in bf16 and 85 MB in
fp32, are read once a pass, at the speed measured for reading as many bytes.

Prediction, from single products on one core (Zen 5), before the engine was written: fp32 through MKL reaches 100
GFLOP/s there, so 2,200 tokens/s at length 128 and no more; oneDNN with packed weights 230 in fp32 and 470 in bf16, so
a ceiling of 10,500 tokens/s. Softmax, norms and copies take no part in that: attention a quarter of the time at length
128 and half at 512, the rest a tenth, so 7,000 to 8,000 tokens/s are to be had, and 5,000 at 512. A query of 12 tokens
takes at least 3 ms: 12 layers of 0.25 ms, as long as reading 42 MB takes.

    python -m benchmarks.embedding.roofline --cache FOLDER [--threads 1] [--repeats 5] [--cpu-time] [--figure FILE.png]

Rounds alternate between the engines. `--cpu-time` counts the process's own seconds instead of the clock's, for one
thread on a machine that others use. Medians are reported; the last line is JSON.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from models.assets.catalog import DEFAULT_MODEL, get_model
from models.assets.prepare import prepare_model
from models.encoder.bert_engine import BertEngine
from models.encoder.engine import EncoderEngine
from models.encoder.sentence_layout import read_layout
from models.encoder.sentence_transformer_engine import SentenceTransformerEngine
from models.encoder.text_tokenizer import TokenizedText

_SHAPES = ((1, 8), (1, 12), (1, 16), (1, 32), (1, 128), (1, 512), (64, 16), (32, 32), (8, 128), (2, 512))
_PRODUCTS = ((384, 1152), (384, 384), (384, 1536), (1536, 384))
_ROWS = 1024
_LAYER_WEIGHTS = 21_233_664
_FLOP_PER_TOKEN, _FLOP_PER_TOKEN_AND_LENGTH = 42.5e6, 18_432
_BYTES = {"fp32": 4, "bf16": 2}
_MOST_ROUNDS_OF_SHORT = 20


@dataclass(frozen=True)
class Point:
    """One engine on one shape."""

    engine: str
    dtype: str
    texts: int
    length: int
    ms: float
    tokens_per_s: float
    gflops: float
    floor_ms: float
    share_of_floor: float


@dataclass(frozen=True)
class Machine:
    """What the machine does at best: products in GFLOP/s and reading in GB/s, by type."""

    gflops: dict[str, float]
    gbytes_per_s: dict[str, float]

    def floor_s(self, dtype: str, texts: int, length: int) -> float:
        """The longer of the two floors of one pass."""
        arithmetic = _flop(texts, length) / (self.gflops[dtype] * 1e9)
        return max(arithmetic, _LAYER_WEIGHTS * _BYTES[dtype] / (self.gbytes_per_s[dtype] * 1e9))


def main() -> None:
    """Runs the benchmark, prints a table and one JSON line, and draws the figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder in which prepared models are kept")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu-time", action="store_true", help="count the process's own seconds; one thread only")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    if arguments.cpu_time and arguments.threads != 1:
        parser.error("--cpu-time adds the seconds of all threads up: use --threads 1")
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    engines = _engines(arguments.cache, arguments.threads)
    machine = _machine(clock)
    points = _measure(engines, machine, clock, arguments.repeats)
    for point in points:
        print(
            f"{point.engine:10} {point.texts:3} x {point.length:3}  {point.ms:8.2f} ms"
            f"  {point.tokens_per_s:7.0f} tokens/s  floor {point.floor_ms:7.2f} ms, reached {point.share_of_floor:.0%}"
        )
    if arguments.figure:
        _draw(arguments.figure, points, machine, arguments.threads)
    result = {"benchmark": "roofline", "threads": arguments.threads, "cpu_time": arguments.cpu_time}
    print(json.dumps({**result, **asdict(machine), "points": [asdict(point) for point in points]}))


def _engines(cache: Path, threads: int) -> dict[str, EncoderEngine]:
    folder, entry = prepare_model(DEFAULT_MODEL, cache), get_model(DEFAULT_MODEL)
    layout = read_layout(folder)
    assert layout is not None
    return {
        "reference": SentenceTransformerEngine(entry, folder, threads=threads),
        "ours fp32": BertEngine(entry, folder, layout, threads=threads, is_exact=True),
        "served": BertEngine(entry, folder, layout, threads=threads),
    }


def _machine(clock: Callable[[], float]) -> Machine:
    import torch

    from models.body.packed_linear import PackedLinear

    gflops, gbytes = {}, {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        flop = took = 0.0
        for inner, outer in _PRODUCTS:
            product = PackedLinear(inner, outer)
            state = {"weight": torch.rand(outer, inner).to(dtype), "bias": torch.rand(outer).to(dtype)}
            product.load_state_dict(state, assign=True)
            product.requires_grad_(False).pack()
            rows = torch.rand(_ROWS, inner).to(dtype)
            took += _best(clock, partial(product, rows))
            flop += 2 * _ROWS * inner * outer
        gflops[name] = round(flop / took / 1e9, 1)
        size = _LAYER_WEIGHTS * _BYTES[name]
        weights = torch.zeros(size // 4)
        gbytes[name] = round(size / _best(clock, weights.sum) / 1e9, 1)
    return Machine(gflops, gbytes)


def _measure(
    engines: dict[str, EncoderEngine], machine: Machine, clock: Callable[[], float], repeats: int
) -> list[Point]:
    from rich.progress import track

    chooser = np.random.default_rng(5)
    points = []
    for texts, length in track(_SHAPES, "shapes", transient=True):
        batch = [TokenizedText(chooser.integers(5, 200_000, length)) for _ in range(texts)]
        times: dict[str, list[float]] = {name: [] for name in engines}
        rounds = repeats * (_MOST_ROUNDS_OF_SHORT if texts * length <= 32 else 1)
        for repeat in range(rounds + 2):
            for name, engine in engines.items():
                started = clock()
                engine.forward(batch)
                if repeat > 1:  # the first rounds compile what this shape needs
                    times[name].append(clock() - started)
        for name, engine in engines.items():
            took, floor = statistics.median(times[name]), machine.floor_s(engine.dtype, texts, length)
            points.append(
                Point(
                    engine=name,
                    dtype=engine.dtype,
                    texts=texts,
                    length=length,
                    ms=round(took * 1e3, 2),
                    tokens_per_s=round(texts * length / took),
                    gflops=round(_flop(texts, length) / took / 1e9, 1),
                    floor_ms=round(floor * 1e3, 2),
                    share_of_floor=round(floor / took, 3),
                )
            )
    return points


def _flop(texts: int, length: int) -> float:
    return texts * length * (_FLOP_PER_TOKEN + _FLOP_PER_TOKEN_AND_LENGTH * length)


def _best(clock: Callable[[], float], work: Callable[[], Any], repeats: int = 15) -> float:
    times = []
    for _ in range(repeats):
        started = clock()
        work()
        times.append(clock() - started)
    return min(times)


def _draw(path: Path, points: list[Point], machine: Machine, threads: int) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    drawn = np.geomspace(2, 2000, 100)  # FLOP a byte of weights
    for dtype, style in (("bf16", "-"), ("fp32", "--")):
        roof = np.minimum(machine.gflops[dtype], drawn * machine.gbytes_per_s[dtype])
        axes.plot(drawn, roof, style, color="black", label=f"{dtype}: {machine.gflops[dtype]:.0f} GFLOP/s")
    for name, marker in (("reference", "s"), ("ours fp32", "^"), ("served", "o")):
        mine = [point for point in points if point.engine == name]
        intensity = [_flop(point.texts, point.length) / (_LAYER_WEIGHTS * _BYTES[point.dtype]) for point in mine]
        axes.scatter(intensity, [point.gflops for point in mine], marker=marker, label=name, zorder=3)
        if name == "served":
            for point, x in zip(mine, intensity, strict=True):
                axes.annotate(
                    f"{point.texts}x{point.length}", (x, point.gflops), (4, -10), textcoords="offset points", size=7
                )
    axes.set(xscale="log", yscale="log", xlabel="FLOP a byte of weights", ylabel="GFLOP/s")
    axes.set_title(f"{DEFAULT_MODEL}, {threads} thread{'s' * (threads > 1)}: texts x tokens of a batch")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140)
    plt.close(figure)


if __name__ == "__main__":
    main()
