"""Dropout that draws where it starts to read a fixed pool of noise, not every element.

On a CPU the generator is a tenth of a training step; the pool is long enough that masks do not repeat in practice.
"""

import torch
from torch import Tensor, nn
from typing_extensions import override

_POOL = 1 << 22


class PooledDropout(nn.Module):
    """`nn.Dropout` with masks cut from a pool.

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
    """Replaces every dropout of a network; all of one probability share a pool."""
    shared: dict[float, PooledDropout] = {}
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, shared.setdefault(child.p, PooledDropout(child.p)))
