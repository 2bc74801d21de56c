"""Writes the weight files that ship (`models.assets.weight_files` describes and reads them)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file
from torch import nn

from models.assets.cache_folders import sha256_of
from models.assets.weight_files import BODY, FROZEN, GROUP, Bits, Floats, WeightSettings, bits_of, checksum_path

from .body import load_body

_CLIPS = np.linspace(0.6, 1.0, 9, dtype=np.float32)
"""Shares of a group's peak that are tried as its largest value in 4 bits."""


def save_weights(path: Path, network: nn.Module, settings: WeightSettings, body_folder: Path) -> int:
    """Writes a weight file and its checksum.

    Args:
        path: Path of the file, ending in `.safetensors`.
        network: Trained, on `body_folder`'s word embeddings.
        settings: Kept in the metadata.
        body_folder: The prepared body that the difference is taken from.

    Returns:
        Size of the file, in bytes.
    """
    prepared = {f"{BODY}{name}": value for name, value in load_body(body_folder).named_parameters()}
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name, parameter in network.named_parameters():
        if FROZEN in name:
            continue
        value = _values(parameter)
        if name in prepared:
            value = value - prepared[name].detach().float().numpy()
            if not value.any():
                continue
        tensors |= _stored(name, value)
    return _write(path, tensors, settings)


def replace_weights(path: Path, parameters: Mapping[str, nn.Parameter], settings: WeightSettings) -> int:
    """Writes parameters of a head into a weight file, which may not have them, and leaves the others as they are.

    Args:
        path: The file.
        parameters: By name; none of the body.
        settings: Kept in the metadata.

    Returns:
        Size of the file, in bytes.
    """
    tensors = load_file(path)
    for name, parameter in parameters.items():
        tensors |= _stored(name, _values(parameter))
    return _write(path, tensors, settings)


def _values(parameter: nn.Parameter) -> Floats:
    values: Floats = parameter.detach().float().cpu().numpy()
    return values


def _stored(name: str, value: Floats) -> dict[str, npt.NDArray[Any]]:
    if value.ndim == 1:
        return {name: value.astype(np.float16)}
    packed, scales = quantise(value, bits_of(name))
    return {f"{name}.packed": packed, f"{name}.scales": scales}


def _write(path: Path, tensors: dict[str, npt.NDArray[Any]], settings: WeightSettings) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = json.dumps(settings.model_dump(mode="json"), ensure_ascii=False)
    save_file(tensors, path, metadata={"jiyi": metadata})
    path.chmod(0o644)  # safetensors writes for the owner alone; what ships is for everyone
    checksum_path(path).write_text(json.dumps({"sha256": sha256_of(path)}), encoding="utf-8")
    return path.stat().st_size


def quantise(values: Floats, bits: Bits) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float16]]:
    """Rounds values to integers of `bits` bits, each group with the scale that has the least squared error.

    Args:
        values: Any shape.
        bits: 4 or 8.

    Returns:
        The integers, shape (bytes,), and the scales, shape (groups,).
    """
    largest = 2 ** (bits - 1) - 1
    flat = values.ravel()
    groups = np.pad(flat, (0, -len(flat) % GROUP)).reshape(-1, GROUP)
    peak = np.abs(groups).max(axis=1)
    best_scale = np.zeros(len(groups), np.float16)
    best_loss = np.full(len(groups), np.inf, np.float32)
    for clip in _CLIPS if bits == 4 else (1.0,):
        scale = (peak * clip / largest).astype(np.float16)
        loss = ((_rounded(groups, scale, largest) * scale[:, None] - groups) ** 2).sum(axis=1)
        better = loss < best_loss
        best_scale[better], best_loss[better] = scale[better], loss[better]
    integers = (_rounded(groups, best_scale, largest) + largest + 1).astype(np.uint8).ravel()
    if bits == 4:
        integers = integers[0::2] | (integers[1::2] << 4)
    return integers, best_scale


def _rounded(groups: Floats, scale: npt.NDArray[np.float16], largest: int) -> Floats:
    divisor = np.where(scale > 0, scale, 1).astype(np.float32)
    rounded: Floats = np.clip(np.rint(groups / divisor[:, None]), -largest - 1, largest)
    return rounded
