"""Checkpoints as `TrainingRun` writes them: read into a network, or blended into one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from models.assets.weight_files import FROZEN


def read_checkpoint(path: Path) -> dict[str, Any]:
    """What a run has written; `shape` says which network its weights are of."""
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


@torch.no_grad()
def load_average(network: nn.Module, state: dict[str, Any]) -> None:
    """Puts the averaged weights into a network, in the order in which training keeps them."""
    named = list(network.named_parameters())
    body = [parameter for name, parameter in named if name.startswith("body.") and FROZEN not in name]
    heads = [parameter for name, parameter in named if not name.startswith("body.")]
    for parameter, value in zip([*body, *heads], state["average"], strict=True):
        parameter.copy_(value)


def blended(parts: Sequence[tuple[Path, float]], out: Path) -> Path:
    """Writes one checkpoint from the averaged weights of several of one shape, each with its share."""
    total = sum(share for _, share in parts)
    blend: dict[str, Any] = {}
    for path, share in parts:
        state = read_checkpoint(path)
        weighted = [value * (share / total) for value in state["average"]]
        blend["average"] = [a + b for a, b in zip(blend["average"], weighted, strict=True)] if blend else weighted
        blend["shape"] = state["shape"]
    blend["masters"] = blend["average"]
    torch.save(blend, out)
    return out
