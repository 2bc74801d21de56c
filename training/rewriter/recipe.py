"""Trains the rewriter that ships, from the data folder to the weight file, by one command.

    python -m training.rewriter.recipe DATA --out DIR --cache MODELS --weights FILE.safetensors

One stage after the other, each as `training.rewriter.train` would be called by hand; killed at any time, the same
command continues where it stopped. A few hours on two CPU cores; on a GPU `--device cuda`. What each stage brought is
in the model card beside the weights. With `--sets open` only data sets are read whose licence allows any use.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..shared.checkpoints import average_checkpoints
from ..shared.data_sets import Part
from ..shared.recipes import device_options, recipe_parser, run_module
from .data import find_sets, load_rows
from .train import choose_words


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of training.

    Attributes:
        name: Name of its folder.
        sets: How often an epoch reads each data set.
        options: Options of `training.rewriter.train`.
        start: The stages whose averaged weights it starts from, with the share of each.
    """

    name: str
    sets: tuple[tuple[str, float], ...]
    options: tuple[str, ...]
    start: tuple[tuple[str, float], ...] = ()


_ALL = (
    ("rewrite", 0.5),
    ("restoration", 1.0),
    ("canard", 0.5),
    ("camrest", 0.8),
    ("followup", 0.6),
    ("mudoco", 0.6),
)
_NO_NEGATIVES = ("--foreign", "0", "--lost", "0", "--renamed", "0")

STAGES = (
    Stage("rewrite", (("rewrite", 1.0),), ("--epochs", "1", *_NO_NEGATIVES)),
    Stage("mixed", _ALL, ("--epochs", "5", "--cooldown", "0.35", *_NO_NEGATIVES), start=(("rewrite", 1.0),)),
    Stage(
        "negatives",
        _ALL,
        (
            *("--epochs", "2", "--cooldown", "0.5", "--body-rate", "1e-4", "--head-rate", "5e-4"),
            *("--complete", "0.15", "--foreign", "0.15", "--lost", "0.05", "--renamed", "0.25"),
        ),
        start=(("rewrite", 0.25), ("mixed", 0.75)),
    ),
)
SHIPPED = (("mixed", 0.5), ("negatives", 0.5))
"""The stages whose weights are averaged in the file: the last one alone forgets some of what the others learned."""


def main() -> None:
    """Trains every stage and exports the blend that ships."""
    arguments = recipe_parser("Trains the rewriter that ships.", "query-rewriting data sets").parse_args()
    sets = find_sets(arguments.sets)
    allowed = {data_set.name for data_set in sets}
    arguments.out.mkdir(parents=True, exist_ok=True)
    words = choose_words([(load_rows(arguments.data, data_set)[Part.TRAIN], data_set.chinese) for data_set in sets])
    (arguments.out / "words.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
    for stage in STAGES:
        chosen = [f"{name}:{weight:g}" for name, weight in stage.sets if name in allowed]
        if chosen:
            _train(stage, ",".join(chosen), arguments)
    shipped = average_checkpoints(_checkpoints(arguments.out, SHIPPED), arguments.out / "shipped.pt")
    run_module(
        "rewriter.export", arguments.data, "--checkpoint", shipped, "--cache", arguments.cache,
        "--sets", arguments.sets, "--out", arguments.weights,
    )  # fmt: skip


def _train(stage: Stage, sets: str, arguments: argparse.Namespace) -> None:
    folder: Path = arguments.out / stage.name
    options: list[Any] = ["--out", folder, "--cache", arguments.cache, "--sets", sets, *stage.options]
    options += ["--words", arguments.out / "words.json", "--resume"]
    if parts := _checkpoints(arguments.out, stage.start):
        options += ["--start", average_checkpoints(parts, arguments.out / f"{stage.name}-start.pt")]
    options += device_options(arguments.device, batch_rows=64)
    run_module("rewriter.train", arguments.data, *options)


def _checkpoints(out: Path, parts: Sequence[tuple[str, float]]) -> list[tuple[Path, float]]:
    """Those of stages that were trained: with open sets there may be fewer."""
    paths = [(out / name / "checkpoint.pt", share) for name, share in parts]
    return [part for part in paths if part[0].exists()]


if __name__ == "__main__":
    main()
