"""Reads the checkpoints that `TrainingRun` writes, loads their weights into a network, and averages several."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from models.assets.weight_files import FROZEN


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Reads a checkpoint onto the CPU.

    Returns:
        Among others `average`, the list of averaged weights, and `shape`, the settings of their network.
    """
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


@torch.no_grad()
def load_average(network: nn.Module, state: dict[str, Any]) -> None:
    """Copies the averaged weights of a checkpoint into a network: the trained weights of the body, then the heads.

    Raises:
        ValueError: The network has another number of trained weights.
    """
    named = list(network.named_parameters())
    body = [parameter for name, parameter in named if name.startswith("body.") and FROZEN not in name]
    heads = [parameter for name, parameter in named if not name.startswith("body.")]
    for parameter, value in zip([*body, *heads], state["average"], strict=True):
        parameter.copy_(value)


def average_checkpoints(parts: Sequence[tuple[Path, float]], out: Path) -> Path:
    """Writes the weighted mean of checkpoints as a new checkpoint.

    Args:
        parts: Checkpoint files with their weights, which need not sum to 1. Heads that only the last network has come
            last in it, and stay as they are.
        out: The file to write.

    Returns:
        `out`.
    """
    total = sum(weight for _, weight in parts)
    mean: dict[str, Any] = {}
    for path, weight in parts:
        state = read_checkpoint(path)
        weighted = [value * (weight / total) for value in state["average"]]
        known = mean.get("average", [])
        both = [a + b for a, b in zip(known, weighted[: len(known)], strict=True)]
        mean["average"] = [*both, *(state["average"] if known else weighted)[len(known) :]]
        mean["shape"] = state["shape"]
    mean["masters"] = mean["average"]
    torch.save(mean, out)
    return out
