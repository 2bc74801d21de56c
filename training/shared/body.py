"""The body as it is trained: a `BertModel` of transformers, and dropout that is cheap on a CPU."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertModel
from transformers.utils import logging
from typing_extensions import override

from models.assets.catalog import DEFAULT_MODEL
from models.assets.prepare import prepare_model

_POOL = 1 << 22


def load_body(folder: Path, *, attention: str = "sdpa") -> Any:
    """The body of a prepared model as a `BertModel` in fp32, without a pooler.

    Args:
        folder: Folder of the prepared model.
        attention: `sdpa`, or `eager`, whose backward pass on a CPU in bf16 is 25 times as fast.
    """
    logging.disable_progress_bar()
    return BertModel.from_pretrained(str(folder), add_pooling_layer=False, attn_implementation=attention)


def trainable_body(cache: Path, *, attention: str = "sdpa") -> tuple[Any, Path]:
    """The default body with no dropout of attention weights, and its prepared folder.

    Args:
        cache: The folder of prepared models.
        attention: Attention implementation, see `load_body`.

    Raises:
        ModelUnavailable: The body cannot be prepared.
    """
    folder = prepare_model(DEFAULT_MODEL, cache)
    body = load_body(folder, attention=attention)
    for layer in body.encoder.layer:
        layer.attention.self.dropout.p = 0.0  # of little use in fine-tuning, and slow on a CPU
    return body, folder


class PooledDropout(nn.Module):
    """`nn.Dropout` with masks cut from a fixed pool of noise at a random place.

    On a CPU drawing every element is a tenth of a training step; the pool is long enough that masks hardly repeat.

    Args:
        p: Probability that an element is dropped.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self._pools: dict[torch.dtype, Tensor] = {}

    @override
    def forward(self, states: Tensor) -> Tensor:
        if not self.training or self.p == 0.0 or states.numel() > _POOL // 2:
            return nn.functional.dropout(states, self.p, self.training)
        pool = self._pools.get(states.dtype)
        if pool is None or pool.device != states.device:
            pool = (torch.rand(_POOL, device=states.device) >= self.p).to(states.dtype) / (1.0 - self.p)
            self._pools[states.dtype] = pool
        start = int(torch.randint(_POOL - states.numel(), ()))
        return states * pool[start : start + states.numel()].view_as(states)


def pool_dropouts(network: nn.Module) -> None:
    """Replaces every `nn.Dropout` of a network; those of one probability share a pool."""
    shared: dict[float, PooledDropout] = {}
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, shared.setdefault(child.p, PooledDropout(child.p)))
