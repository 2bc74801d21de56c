"""Weight files that ship: what training changed in the prepared body, and the heads; small enough for the repository.

One safetensors file: the body's matrices as their difference from the prepared ones in 4 bits, the heads' in 8, vectors
in fp16; what training left as it was is not in it. Its metadata hold, as JSON, what belongs to the weights but is no
tensor. Beside it, `NAME.json` holds its SHA-256. A network is a module with the body as `body`; the word embeddings are
never trained, so they are not in the file.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from memory.values.errors import ModelUnavailable

from .four_bit import Bits, pack, unpack

if TYPE_CHECKING:
    from torch import Tensor, nn

FROZEN = "word_embeddings"
"""What names of parameters that are never trained hold."""

_BODY = "body."


def save_delta(path: Path, network: "nn.Module", settings: Mapping[str, Any], *, body_folder: Path) -> int:
    """Writes a weight file and its checksum.

    Args:
        path: Of the file, ending in `.safetensors`.
        network: Trained, on `body_folder`'s word embeddings.
        settings: Kept in the metadata; JSON values.
        body_folder: The prepared body that the difference is taken from.

    Returns:
        Size of the file, in bytes.
    """
    from safetensors.numpy import save_file

    from .e5_body import load_body

    before = {f"{_BODY}{name}": value for name, value in load_body(str(body_folder)).named_parameters()}
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name, parameter in network.named_parameters():
        if FROZEN in name:
            continue
        value = parameter.detach().float().cpu().numpy()
        if name in before:
            value = value - before[name].detach().float().numpy()
            if not value.any():
                continue
        if value.ndim == 1:
            tensors[name] = value.astype(np.float16)
        else:
            tensors[f"{name}.packed"], tensors[f"{name}.scales"] = pack(value, _bits(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path, metadata={"jiyi": json.dumps(dict(settings), ensure_ascii=False)})
    path.chmod(0o644)  # safetensors writes for the owner alone; what ships is for everyone
    _checksum_path(path).write_text(json.dumps({"sha256": _sha256(path)}), encoding="utf-8")
    return path.stat().st_size


def read_metadata(path: Path, *, component: str, format_number: int) -> dict[str, Any]:
    """The settings of a weight file.

    Args:
        path: Of the file.
        component: Which model it is of, for errors.
        format_number: The `format` that the settings must have.

    Raises:
        ModelUnavailable: The file is missing, is not the one that its checksum was taken of, or has another format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        expected = json.loads(_checksum_path(path).read_text(encoding="utf-8"))["sha256"]
        if _sha256(path) != expected:
            raise ModelUnavailable(f"{path} is corrupt: its SHA-256 is not {expected}.", component=component)
        with safe_open(path, framework="np") as file:
            metadata: dict[str, Any] = json.loads(file.metadata()["jiyi"])
        if metadata["format"] != format_number:
            raise ModelUnavailable(
                f"{path} has format {metadata['format']}; this version reads {format_number}.", component=component
            )
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise unreadable(path, error, component=component) from error
    return metadata


def unreadable(path: Path, error: Exception, *, component: str) -> ModelUnavailable:
    """What is raised where a file, or what it says of itself, makes no sense."""
    return ModelUnavailable(f"{path} cannot be read: {error}.", component=component)


def load_delta(path: Path, network: "nn.Module", *, component: str) -> None:
    """Puts the weights into a network on the prepared body; call `read_metadata` first, which checks the file.

    Raises:
        ModelUnavailable: The file does not fit the network.
    """
    add_delta(path, network.named_parameters(), component=component)


def add_delta(path: Path, parameters: Iterable[tuple[str, "Tensor"]], *, component: str) -> None:
    """Like `load_delta`, for named tensors: those of the body get the difference added, the heads' are overwritten."""
    import torch
    from safetensors.numpy import load_file

    tensors = load_file(path)
    with torch.no_grad():
        for name, parameter in parameters:
            if FROZEN in name or (name.startswith(_BODY) and not {name, f"{name}.packed"} & tensors.keys()):
                continue  # as it was prepared
            try:
                if parameter.ndim == 1:
                    value = tensors[name].astype(np.float32)
                else:
                    packed, scales = tensors[f"{name}.packed"], tensors[f"{name}.scales"]
                    value = unpack(packed, scales, tuple(parameter.shape), _bits(name))
                read = torch.from_numpy(value)
                parameter.copy_(parameter + read if name.startswith(_BODY) else read)
            except (KeyError, ValueError, RuntimeError) as error:
                raise ModelUnavailable(f"{path} does not fit: {name}: {error}.", component=component) from error


def _bits(name: str) -> Bits:
    return 4 if name.startswith(_BODY) else 8


def _checksum_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
