"""Loads trained networks for serving: dequantised once into the cache, then mapped (DESIGN §5).

The body with the changes of a weight file, and the heads, are computed once and cached as one file under the checksum
of the weight file. Every process maps that file and the word embeddings of the prepared body, so that replicas, and the
models on one body, share memory. Files of other weights of the same model are removed once no process uses them.

This module imports torch: it is imported where a network is built, never with its package.
"""

import json
import re
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from memory.values.errors import ModelUnavailable

from ..assets.cache_folders import open_and_lock, remove_unused, sha256_of
from ..assets.prepare import prepare_model
from ..assets.weight_files import BODY, add_weights, shipped_weight_file
from .body import WORDS, BodyShape, ServingBody, layer_of, serving_state
from .gate import has_fast_bf16, passes_gate

NetworkT = TypeVar("NetworkT", bound=nn.Module)

_FORMAT = 3
"""Version of the file's format: files of another version are written again."""

_FILE = "weights.safetensors"


def load_network(
    weights: Path, build: Callable[[nn.Module], NetworkT], *, body: str, cache: Path, device: str, component: str
) -> tuple[NetworkT, Path]:
    """A trained network in evaluation mode with its weights mapped, and the prepared folder of its body.

    On a CPU the body computes in bf16 where the CPU multiplies bf16 and the gate passes, else in fp32; on CUDA in bf16
    (that path has not run on a GPU yet). The heads stay in fp32.

    Args:
        weights: The weight file, verified by `weight_files.read_settings`.
        build: Makes the network around a body, which becomes its submodule `body`.
        body: Catalogue id of the body.
        cache: The folder of prepared models.
        device: `cpu`, `cuda` or `cuda:N`.
        component: The model's name in errors.

    Raises:
        ModelUnavailable: The body is missing, or the weights do not fit it.
    """
    prepared = prepare_model(body, cache)
    shape = BodyShape.of(json.loads((prepared / "config.json").read_text(encoding="utf-8")))
    with torch.device("meta"):
        served = ServingBody(shape)
        network = build(served)
    shape = replace(shape, layers=len(served.encoder.layer))  # a network may drop the last layers
    heads = {name: value.shape for name, value in network.named_parameters() if not name.startswith(BODY)}
    is_fast = device != "cpu" or has_fast_bf16()
    checksum = sha256_of(weights)
    origin = {
        "format": _FORMAT,
        "weights": checksum,
        "body": sha256_of(prepared / "manifest.json") if (prepared / "manifest.json").exists() else prepared.name,
        "bf16": is_fast,
    }

    def write(folder: Path) -> None:
        from safetensors.torch import save_file

        tensors = _trained_tensors(weights, prepared, shape, heads, component)
        save_file(_served_tensors(tensors, prepared, shape, is_fast=is_fast, component=component), folder / _FILE)

    folder = cache / "trained" / _folder_name(component, checksum, is_fast=is_fast)
    try:
        lock = open_and_lock(folder, origin=origin, build=write)
        weakref.finalize(network, lock.close)
        state = _mapped(folder / _FILE)
        state[BODY + WORDS] = _mapped(prepared / "model.safetensors")[WORDS]
        network.load_state_dict(state, assign=True)
    except (OSError, KeyError, ValueError, RuntimeError, SafetensorError) as error:
        raise ModelUnavailable(f"The {component} cannot be loaded: {error}.", component=component) from error
    _remove_outdated(folder.parent, component, {checksum, *_shipped_checksum(component)})
    network.requires_grad_(False)
    return network.to(device).eval(), prepared


def network_dtype(network: nn.Module) -> str:
    """The type of the layers of a network's body: `bf16` or `fp32`."""
    dtype = network.get_parameter(f"{BODY}encoder.layer.0.qkv.bias").dtype
    return "bf16" if dtype is torch.bfloat16 else "fp32"


def _folder_name(component: str, checksum: str, *, is_fast: bool) -> str:
    return f"{component}-{checksum[:12]}-{'bf16' if is_fast else 'fp32'}"


def _shipped_checksum(component: str) -> list[str]:
    """The checksum of the shipped weight file, whose folder is kept when another file is loaded."""
    shipped = shipped_weight_file(component)
    return [sha256_of(shipped)] if shipped.exists() else []


def _remove_outdated(parent: Path, component: str, checksums: Collection[str]) -> None:
    """Removes folders of other weights of the model that no process uses."""
    names = re.compile(rf"{re.escape(component)}-[0-9a-f]{{12}}-(bf16|fp32)")
    keep = {_folder_name(component, checksum, is_fast=is_fast) for checksum in checksums for is_fast in (False, True)}
    remove_unused(parent, names, keep=keep)


def _mapped(path: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return load_file(path)  # on the CPU its tensors are views of the mapped file


def _trained_tensors(
    weights: Path, prepared: Path, shape: BodyShape, heads: Mapping[str, torch.Size], component: str
) -> dict[str, Tensor]:
    """All tensors of the network in fp32 but the word embeddings; the body's are named as in `BertModel`."""
    tensors = {
        BODY + name: value.clone()
        for name, value in _mapped(prepared / "model.safetensors").items()
        if name != WORDS and value.is_floating_point() and layer_of(name) < shape.layers
    }
    tensors |= {name: torch.empty(shape) for name, shape in heads.items()}
    add_weights(weights, tensors.items(), component=component)
    return tensors


def _served_tensors(
    tensors: Mapping[str, Tensor], prepared: Path, shape: BodyShape, *, is_fast: bool, component: str
) -> dict[str, Tensor]:
    """The tensors of the file: the body in the type that is served, and the heads."""
    heads = {name: value for name, value in tensors.items() if not name.startswith(BODY)}
    body = {name.removeprefix(BODY): value for name, value in tensors.items() if name.startswith(BODY)}
    exact = serving_state(body, shape, torch.float32)
    served = _gated_state(body, exact, prepared, shape, component=component) if is_fast else exact
    return {**heads, **{BODY + name: value for name, value in served.items()}}


def _gated_state(
    tensors: Mapping[str, Tensor], exact: dict[str, Tensor], prepared: Path, shape: BodyShape, *, component: str
) -> dict[str, Tensor]:
    """The body's state in bf16 if the gate passes, else in fp32."""
    from tokenizers import Tokenizer

    fast = serving_state(tensors, shape, torch.bfloat16)
    tokenizer = Tokenizer.from_file(str(prepared / "tokenizer.json"))
    words = _mapped(prepared / "model.safetensors")[WORDS]

    def states_of(state: Mapping[str, Tensor]) -> Callable[[str], Tensor]:
        with torch.device("meta"):
            body = ServingBody(shape)
        body.load_state_dict({**state, WORDS: words}, assign=True)

        def states(text: str) -> Tensor:  # (tokens, hidden)
            ids = torch.tensor([tokenizer.encode(text).ids])
            output: Tensor = body(ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            return output

        return states

    return fast if passes_gate(states_of(fast), states_of(exact), component=component) else exact
