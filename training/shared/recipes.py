"""What recipes share: a recipe trains a model that ships, from the data folder to the weight file, by one command."""

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .checkpoints import average_checkpoints

Mean = tuple[tuple[str, float], ...]
"""Names of stages or of other means, with their weights."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One training of a recipe.

    Attributes:
        name: Of its folder.
        options: Of the training's command.
        start: The stage or mean that it starts from, by default the stage before it.
    """

    name: str
    options: tuple[str, ...]
    start: str | None = None


def train_stages(
    module: str,
    stages: Sequence[Stage],
    means: Mapping[str, Mean],
    *given: Any,
    out: Path,
    first: Path | None = None,
    device: Sequence[str] = (),
    options_from: Callable[[Stage, Path | None], Sequence[Any]] = lambda _, start: ["--start", start] if start else [],
) -> dict[str, Path]:
    """Trains one stage after the other, each going on where it was killed.

    Args:
        module: The training.
        stages: In their order.
        means: Means of checkpoints, each made as soon as what it is of is there.
        given: What every training is given.
        out: Gets a folder for each stage, with the means that are made after it.
        first: Where the first stage starts.
        device: Options of the device, see `device_options`.
        options_from: Options that say where a stage starts, and what else follows from that.

    Returns:
        The checkpoints of stages and means by name.
    """
    made: dict[str, Path] = {}
    before = first
    for stage in stages:
        folder = out / stage.name
        start = made[stage.start] if stage.start else before
        run_module(module, *given, "--out", folder, *stage.options, *device, *options_from(stage, start), "--resume")
        before = made[stage.name] = folder / "checkpoint.pt"
        for name, parts in means.items():
            if name not in made and all(part in made for part, _ in parts):
                made[name] = average_checkpoints([(made[part], share) for part, share in parts], folder / f"{name}.pt")
    return made


def recipe_parser(description: str, data: str) -> argparse.ArgumentParser:
    """The arguments of a recipe.

    Args:
        description: Description of the command.
        data: What the data folder holds.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help=f"folder of the {data}")
    parser.add_argument("--out", type=Path, required=True, help="gets checkpoints, logs and learning curves")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--weights", type=Path, required=True, help="the weight file to write")
    parser.add_argument("--sets", choices=("all", "open"), default="all")
    parser.add_argument("--device", default="cpu")
    return parser


def device_options(device: str, *, batch_rows: int) -> list[str]:
    """Options of a training for a device: one worker and large batches on a GPU.

    Args:
        device: Device name of torch.
        batch_rows: Rows of a batch on a GPU, at most.
    """
    if device == "cpu":
        return []
    return ["--device", device, "--workers", "1", "--batch-tokens", "16384", "--batch-rows", str(batch_rows)]


def run_module(module: str, *given: Any) -> None:
    """Runs a command of this package in a process of its own.

    Raises:
        CalledProcessError: It failed.
    """
    subprocess.run([sys.executable, "-m", f"training.{module}", *map(str, given)], check=True)  # noqa: S603


def export_parser(data: str) -> argparse.ArgumentParser:
    """The arguments of an export, which writes the weight file that ships from a checkpoint of training.

    Args:
        data: What the data folder holds.
    """
    parser = argparse.ArgumentParser(description="Writes the weight file that ships, from a checkpoint of training.")
    parser.add_argument("data", type=Path, help=f"folder of the {data}")
    parser.add_argument("--checkpoint", type=Path, required=True, help="the files of its run lie beside it")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--out", type=Path, required=True)
    return parser
