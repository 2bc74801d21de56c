"""Weights in three forms: fp32 masters that the optimiser moves, copies that compute, and a running average."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from models.body.gate import has_fast_bf16


class MixedWeights:
    """Keeps the masters and the average of a network whose body computes in bf16 where that is fast.

    `torch.optim.swa_utils.AveragedModel` averages a module, here the fp32 masters are averaged, and with a decay that
    rises over the first steps.

    On a CPU with bf16 instructions the body's products run three times as fast as in fp32, on one without them a
    hundred times as slowly: there it computes in fp32.

    Args:
        body: On its device. Where bf16 is fast, its trainable parameters are turned into it; frozen ones too.
        heads: Parameters that stay fp32.
        decay: Decay of the average after many steps; it is lower during the first ones.
    """

    def __init__(self, body: nn.Module, heads: Iterable[nn.Parameter], *, decay: float) -> None:
        trained = [parameter for parameter in body.parameters() if parameter.requires_grad]
        self.body_masters = [parameter.detach().float().clone() for parameter in trained]
        if next(body.parameters()).is_cuda or has_fast_bf16():
            body.to(torch.bfloat16)
        # `to` keeps the parameter objects and replaces what they hold
        self._body: list[Tensor] = [parameter for parameter in body.parameters() if parameter.requires_grad]
        self.head_masters: list[Tensor] = list(heads)
        self.average = [master.detach().clone() for master in self.masters]
        self._decay = decay
        self.steps = 0

    @property
    def masters(self) -> list[Tensor]:
        """The parameters of the optimiser: those of the body, then those of the heads."""
        return [*self.body_masters, *self.head_masters]

    @property
    def computing(self) -> list[Tensor]:
        """The parameters of the network that gradients are taken of, in the order of `masters`."""
        return [*self._body, *self.head_masters]

    def set_gradients(self, parts: Sequence[Sequence[Tensor]], most_norm: float) -> float:
        """Sums the gradients of the parts of a batch into the masters and clips them; returns the norm before."""
        gradients = [gradient.float() for gradient in parts[0]]
        for part in parts[1:]:
            torch._foreach_add_(gradients, [gradient.float() for gradient in part])
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        if norm > most_norm:
            torch._foreach_mul_(gradients, most_norm / norm)
        for master, gradient in zip(self.masters, gradients, strict=True):
            master.grad = gradient
        return norm

    @torch.no_grad()
    def updated(self) -> None:
        """Updates the computing weights and the average; called after a step of the optimiser."""
        self.steps += 1
        torch._foreach_copy_(self._body, self.body_masters)
        decay = min(self._decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(self.average, [master.detach() for master in self.masters], 1 - decay)

    @torch.no_grad()
    def load(self, masters: Sequence[Tensor]) -> None:
        """Puts other weights into the computing network: the average, or the masters again."""
        torch._foreach_copy_(self._body, list(masters[: len(self._body)]))
        for parameter, value in zip(self.head_masters, masters[len(self._body) :], strict=True):
            parameter.data.copy_(value)
