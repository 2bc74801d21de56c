"""The rewriter's weight file: what training changed, small enough to ship.

One safetensors file; its metadata hold the shape of the heads, the function words, the rule for leaving a query alone
and the body that it belongs to. Beside it, `NAME.json` holds its SHA-256.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.errors import ModelUnavailable

from .decoding import KeepRule
from .network import NetworkShape, RewriterNetwork, load_body
from .packing import Bits, pack, unpack

_FORMAT = 1
_COMPONENT = "rewriter"
_FROZEN = "word_embeddings"
_BODY = "body."


@dataclass(frozen=True, slots=True)
class RewriterSettings:
    """What belongs to the weights but is no tensor.

    Attributes:
        shape: Of the heads.
        words: Function words, in order.
        rule: When a query is left as it is.
        body: Catalogue id of the body.
    """

    shape: NetworkShape
    words: tuple[str, ...]
    rule: KeepRule
    body: str


def save_weights(path: Path, network: RewriterNetwork, settings: RewriterSettings, body_folder: Path) -> int:
    """Writes the weight file and its checksum.

    Args:
        path: Of the file, ending in `.safetensors`.
        network: Trained, on `body_folder`'s word embeddings.
        settings: Kept in the metadata.
        body_folder: The prepared body that the difference is taken from.

    Returns:
        Size of the file, in bytes.
    """
    from safetensors.numpy import save_file

    before = {f"{_BODY}{name}": value for name, value in load_body(str(body_folder)).named_parameters()}
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name, parameter in network.named_parameters():
        if _FROZEN in name:
            continue
        value = parameter.detach().float().cpu().numpy()
        if name in before:
            value = value - before[name].detach().float().numpy()
        if value.ndim == 1:
            tensors[name] = value.astype(np.float16)
        else:
            tensors[f"{name}.packed"], tensors[f"{name}.scales"] = pack(value, _bits(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"format": _FORMAT, **asdict(settings)}
    save_file(tensors, path, metadata={"jiyi": json.dumps(metadata, ensure_ascii=False)})
    _checksum_path(path).write_text(json.dumps({"sha256": _sha256(path)}), encoding="utf-8")
    return path.stat().st_size


def read_settings(path: Path) -> RewriterSettings:
    """The settings of a weight file.

    Raises:
        ModelUnavailable: The file is missing, or is not the one that its checksum was taken of.
    """
    from safetensors import SafetensorError, safe_open

    try:
        expected = json.loads(_checksum_path(path).read_text(encoding="utf-8"))["sha256"]
        if _sha256(path) != expected:
            raise ModelUnavailable(f"{path} is corrupt: its SHA-256 is not {expected}.", component=_COMPONENT)
        with safe_open(path, framework="np") as file:
            metadata = json.loads(file.metadata()["jiyi"])
        if metadata["format"] != _FORMAT:
            raise ModelUnavailable(
                f"{path} has format {metadata['format']}; this version reads {_FORMAT}.", component=_COMPONENT
            )
        return RewriterSettings(
            shape=NetworkShape(**metadata["shape"]),
            words=tuple(metadata["words"]),
            rule=KeepRule(**metadata["rule"]),
            body=metadata["body"],
        )
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelUnavailable(f"{path} cannot be read: {error}.", component=_COMPONENT) from error


def load_weights(path: Path, network: RewriterNetwork) -> None:
    """Puts the weights into a network on the prepared body; call `read_settings` first, which checks the file.

    Raises:
        ModelUnavailable: The file does not fit the network.
    """
    import torch
    from safetensors.numpy import load_file

    tensors = load_file(path)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if _FROZEN in name:
                continue
            try:
                if parameter.ndim == 1:
                    value = tensors[name].astype(np.float32)
                else:
                    packed, scales = tensors[f"{name}.packed"], tensors[f"{name}.scales"]
                    value = unpack(packed, scales, tuple(parameter.shape), _bits(name))
                read = torch.from_numpy(value)
                parameter.copy_(parameter + read if name.startswith(_BODY) else read)
            except (KeyError, ValueError, RuntimeError) as error:
                raise ModelUnavailable(f"{path} does not fit: {name}: {error}.", component=_COMPONENT) from error


def _bits(name: str) -> Bits:
    return 4 if name.startswith(_BODY) else 8


def _checksum_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
