"""What recipes share: a recipe trains a model that ships, from the data folder to the weight file, by one command."""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any


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
