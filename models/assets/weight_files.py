"""Weight files that ship: what training changed in the prepared body, and the heads; small enough for the repository.

One safetensors file: the body's matrices as their difference from the prepared ones in 4 bits, those of the heads in 8,
vectors in fp16; what training left as it was is not in it. Groups of `GROUP` values share a scale in fp16. Its metadata
hold, as JSON, the settings of the model (`WeightSettings`). Beside it, `NAME.json` holds its SHA-256. A network is a
module with the body as `body`; the word embeddings are never trained, so they are not in the file.
`training.shared.weight_files` writes these files.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from memory.values.base import Value
from memory.values.errors import ModelUnavailable

from .cache_folders import sha256_of

if TYPE_CHECKING:
    from torch import Tensor

SHIPPED = Path(__file__).parents[1] / "weights"
"""The folder of the weight files that ship, with a model card beside each."""

FROZEN = "word_embeddings"
"""Part of the names of parameters that are never trained."""

BODY = "body."
"""Prefix of the names of the body's parameters."""

GROUP = 64
Bits = Literal[4, 8]
Floats = npt.NDArray[np.float32]


class WeightSettings(Value):
    """Settings that belong to the weights: one subclass for each kind of model.

    Attributes:
        format: Version of the file's layout and of these settings.
        body: Catalogue id of the body.
    """

    component: ClassVar[str]
    """The model's name in errors."""

    format: int
    body: str


SettingsT = TypeVar("SettingsT", bound=WeightSettings)


def shipped_weight_file(name: str, folder: Path | None = None) -> Path:
    """The path of a model's weight file, whether it exists or not.

    Args:
        name: `reader`, `answers`, `document_answers` or `reranker`.
        folder: The folder of the file; None for the folder of the shipped weights.
    """
    return (folder or SHIPPED) / f"{name}.safetensors"


def read_settings(path: Path, kind: type[SettingsT]) -> SettingsT:
    """Verifies a weight file and reads its settings.

    Args:
        path: Of the file.
        kind: The settings of the model.

    Raises:
        ModelUnavailable: The file is missing, does not have the checksum beside it, has another format, or its
            settings make no sense.
    """
    from safetensors import SafetensorError, safe_open

    component = kind.component
    try:
        expected = json.loads(checksum_path(path).read_text(encoding="utf-8"))["sha256"]
        if sha256_of(path) != expected:
            raise ModelUnavailable(f"{path} is corrupt: its SHA-256 is not {expected}.", component=component)
        with safe_open(path, framework="np") as file:
            metadata = json.loads(file.metadata()["jiyi"])
        known_format = kind.model_fields["format"].default
        if metadata["format"] != known_format:
            raise ModelUnavailable(
                f"{path} has format {metadata['format']}; this version reads {known_format}.", component=component
            )
        return kind.model_validate(metadata)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelUnavailable(f"{path} cannot be read: {error}.", component=component) from error


def add_weights(path: Path, parameters: Iterable[tuple[str, "Tensor"]], *, component: str) -> None:
    """Puts the weights of a file, verified by `read_settings`, into the parameters of a network.

    Args:
        path: Of the file.
        parameters: By name; those of the body, which get the difference added, must hold the prepared weights, those
            of the heads are overwritten.
        component: The model's name in errors.

    Raises:
        ModelUnavailable: The file does not fit the network.
    """
    import torch
    from safetensors.numpy import load_file

    tensors = load_file(path)
    with torch.no_grad():
        for name, parameter in parameters:
            if FROZEN in name or (name.startswith(BODY) and not {name, f"{name}.packed"} & tensors.keys()):
                continue  # not trained
            try:
                if parameter.ndim == 1:
                    value = tensors[name].astype(np.float32)
                else:
                    packed, scales = tensors[f"{name}.packed"], tensors[f"{name}.scales"]
                    value = dequantise(packed, scales, tuple(parameter.shape), bits_of(name))
                weights = torch.from_numpy(value)
                parameter.copy_(parameter + weights if name.startswith(BODY) else weights)
            except (KeyError, ValueError, RuntimeError) as error:
                raise ModelUnavailable(f"{path} does not fit: {name}: {error}.", component=component) from error


def dequantise(
    packed: npt.NDArray[np.uint8], scales: npt.NDArray[np.float16], shape: tuple[int, ...], bits: Bits
) -> Floats:
    """Values from integers of `bits` bits; in 4 bits the even values are in the low half of each byte.

    Args:
        packed: Shape (bytes,), whole groups.
        scales: Shape (groups,).
        shape: Of the values.
        bits: 4 or 8.
    """
    if bits == 4:
        packed = np.stack([packed & 15, packed >> 4], axis=1).ravel()
    groups = packed.reshape(-1, GROUP).astype(np.float32) - 2 ** (bits - 1)  # (groups, GROUP)
    flat: Floats = (groups * scales[:, None].astype(np.float32)).ravel()
    return flat[: int(np.prod(shape))].reshape(shape)


def bits_of(name: str) -> Bits:
    """Bits of a value of the parameter of that name."""
    return 4 if name.startswith(BODY) else 8


def checksum_path(path: Path) -> Path:
    """The file that holds the SHA-256 of a weight file."""
    return path.with_suffix(".json")
