"""The command line that trainings share: options of dataclasses, the epochs with their progress, log and curve."""

import argparse
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from .learning_curve import Curve, draw_curve
from .run import NetworkT, RunOptions, Task, TrainingRun

_LOGGED_STEPS = 20
_COUNTS = ("norm", "rows", "tokens")


def training_parser(description: str, data: str, *options: type[Any]) -> argparse.ArgumentParser:
    """The arguments of a training.

    Args:
        description: Description of the command.
        data: What the data folder holds.
        options: Dataclasses beside `RunOptions`; each of their fields becomes an option.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help=f"folder of the {data}")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--sets", default="all", help="all, open, or names, each with :weight if not 1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="continue from DIR/checkpoint.pt, if it exists")
    parser.add_argument("--start", type=Path, help="a checkpoint whose averaged weights a new run starts from")
    parser.add_argument("--device", default="cpu")
    kinds: list[type[Any]] = [RunOptions, *options]
    for field in (field for kind in kinds for field in fields(kind)):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=field.type)
    return parser


def chosen_options(kind: type[Any], arguments: argparse.Namespace) -> Any:
    """Builds the dataclass from the options given on the command line."""
    values = vars(arguments)
    return kind(**{field.name: values[field.name] for field in fields(kind) if values.get(field.name) is not None})


def start(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the command line, makes the output folder and sets torch's threads; call it before a network is built.

    Returns:
        The arguments of `training_parser`, and `attention` for `body.trainable_body`.
    """
    import torch

    from models.body.gate import has_fast_bf16

    arguments = parser.parse_args()
    arguments.attention = "eager" if arguments.device == "cpu" and has_fast_bf16() else "sdpa"
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # see RunOptions.workers
    return arguments


@contextmanager
def _flushed_denormals() -> Iterator[None]:
    """Takes numbers too small for a normal float as 0, which is faster; the threads of a run inherit it."""
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@_flushed_denormals()
def train_all(
    network: NetworkT,
    task: Task[NetworkT, Any],
    tune: Callable[[], Mapping[str, Mapping[str, float]]],
    curve: Curve,
    *,
    arguments: argparse.Namespace,
) -> None:
    """Trains to the end, from the checkpoint where `--resume` says so; the best epoch's is kept as `best.pt`.

    Args:
        network: On the prepared body.
        task: What it learns.
        tune: Scores by data set on the tuning rows; called after each epoch with the averaged weights in place.
        curve: What the learning curve shows.
        arguments: From `start`.
    """
    folder: Path = arguments.out
    network.to(arguments.device)
    options = chosen_options(RunOptions, arguments)
    run = TrainingRun(network, task, options=options, folder=folder, seed=arguments.seed)
    if arguments.resume and (folder / "checkpoint.pt").exists():
        run.resume(folder / "checkpoint.pt")
    elif arguments.start:
        run.resume(arguments.start, weights_only=True)
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.1f}%"), TimeElapsedColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        bar_task = bar.add_task("training", total=1.0)
        while run.progress < 1.0:
            _train_epoch(run, bar, bar_task)
            with run.averaged():
                scores = tune()
            run.log({"step": run.step, "epoch": run.epoch, "tune": scores})
            keep_best(folder, curve.measure)
            draw_curve(folder / "log.jsonl", folder / "curve.png", curve)


def keep_best(folder: Path, measure: str) -> bool:
    """Copies `checkpoint.pt` to `best.pt` where the latest epoch tuned best: more epochs may overfit.

    Args:
        folder: Folder of a run; its log is read, so that a resumed run knows its earlier epochs.
        measure: A tuning score; its mean over the data sets counts.

    Returns:
        Whether it was copied.
    """
    entries = map(json.loads, (folder / "log.jsonl").read_text(encoding="utf-8").splitlines())
    scores: list[float] = [
        sum(measured[measure] for measured in entry["tune"].values()) for entry in entries if "tune" in entry
    ]
    is_best = scores[-1] == max(scores)
    if is_best:
        shutil.copyfile(folder / "checkpoint.pt", folder / "best.pt")
    return is_best


def _train_epoch(run: TrainingRun[Any, Any], bar: Progress, task: TaskID) -> None:
    started = time.monotonic()
    sums: dict[str, float] = {}
    for step in run.train_epoch():
        for name, value in step.items():
            sums[name] = sums.get(name, 0.0) + (value if name in _COUNTS else value * step["rows"])
        bar.update(task, completed=run.progress, description=f"step {run.step}")
        if run.step % _LOGGED_STEPS == 0:
            losses = {name: round(sums[name] / sums["rows"], 4) for name in step if name not in _COUNTS}
            speed = round(sums["tokens"] / (time.monotonic() - started), 1)
            run.log({"step": run.step, "progress": round(run.progress, 4), **losses, "tokens_per_s": speed})
            started, sums = time.monotonic(), {}
