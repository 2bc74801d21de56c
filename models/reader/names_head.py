"""The head for names: it scores every span of at most `span` units of the message under every label.

A span's score is the sum of how well its ends go together (products of rotated vectors, mixed anew for each label), of
its first and its last token, and of its width; above 0 it is more probably a name than not. After "Global Pointer"
(Su 2021/2022, efficient form), with several products instead of one.

This module imports torch: it is imported where a network is built, never with its package.
"""

import torch
from torch import Tensor, nn
from typing_extensions import override

from memory.values.base import Value

from ..body.network_parts import MASKED, gather_states

_NO_NAME = -6.0


class NamesShape(Value):
    """Sizes of the head.

    Attributes:
        labels: Their number.
        hidden: Width of the body.
        span: Units of the longest span.
        products: Products of the two ends.
        width: Width of the vectors that are multiplied; even.
    """

    labels: int
    hidden: int = 384
    span: int = 24
    products: int = 4
    width: int = 64


class NamesHead(nn.Module):
    """Scores spans.

    Args:
        shape: Sizes of the head.
    """

    def __init__(self, shape: NamesShape) -> None:
        super().__init__()
        self.shape = shape
        self.norm = nn.LayerNorm(shape.hidden)
        self.dropout = nn.Dropout(0.1)
        self.first = nn.Linear(shape.hidden, shape.products * shape.width)
        self.last = nn.Linear(shape.hidden, shape.products * shape.width)
        self.mix = nn.Linear(shape.products, shape.labels, bias=False)
        self.start_score = nn.Linear(shape.hidden, shape.labels)
        self.end_score = nn.Linear(shape.hidden, shape.labels, bias=False)
        self.width_score = nn.Embedding(shape.span, shape.labels)
        # The body's states are small and alike (the difference between tokens is a third of their length). Without
        # wider products, and a start from "no span is a name", the first steps push all scores down, through the body
        # too, from which training hardly recovers.
        for product in (self.first, self.last):
            nn.init.normal_(product.weight, std=0.06)
        nn.init.constant_(self.start_score.bias, _NO_NAME)
        nn.init.normal_(self.mix.weight, mean=shape.products**-0.5, std=0.1)
        nn.init.zeros_(self.width_score.weight)

    @override
    def forward(self, states: Tensor, unit_tokens: Tensor, unit_counts: Tensor) -> Tensor:
        """Scores of all spans.

        Args:
            states: Shape (batch, tokens, hidden), float32.
            unit_tokens: Shape (batch, units, 2): first and last token of each unit of the message.
            unit_counts: Shape (batch,).

        Returns:
            Shape (batch, units, span, labels), float32, by first unit and width; `MASKED` where a span ends after
            the text.
        """
        states = self.dropout(self.norm(states))
        starts = gather_states(states, unit_tokens[..., 0])  # (batch, units, hidden)
        ends = gather_states(states, unit_tokens[..., 1])
        units = starts.shape[1]
        last = torch.arange(units, device=states.device)[:, None] + torch.arange(self.shape.span, device=states.device)
        inside = last.clamp(max=units - 1)  # (units, span)
        pairs = self._pairs(starts, ends)  # (batch, products, units, units)
        pairs = pairs.gather(3, inside.expand(*pairs.shape[:2], -1, -1)).permute(0, 2, 3, 1)
        scores: Tensor = self.mix(pairs) + self.start_score(starts)[:, :, None] + self.width_score.weight
        scores = scores + self.end_score(ends)[:, inside]
        outside = last >= unit_counts[:, None, None]  # (batch, units, span)
        return scores.masked_fill(outside[..., None], MASKED)

    def _pairs(self, starts: Tensor, ends: Tensor) -> Tensor:
        count, units = starts.shape[:2]
        split = (count, units, self.shape.products, self.shape.width)
        first = _rotated(self.first(starts).view(split).transpose(1, 2))
        last = _rotated(self.last(ends).view(split).transpose(1, 2))
        products: Tensor = first @ last.transpose(2, 3) * self.shape.width**-0.5
        return products


def _rotated(vectors: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021) over units; (…, units, width) stays so."""
    units, width = vectors.shape[-2:]
    rates = 10_000.0 ** (-torch.arange(0, width, 2, device=vectors.device) / width)
    angles = torch.arange(units, device=vectors.device)[:, None] * rates  # (units, width / 2)
    even, odd = vectors[..., 0::2], vectors[..., 1::2]
    cosine, sine = angles.cos(), angles.sin()
    return torch.cat([even * cosine - odd * sine, odd * cosine + even * sine], dim=-1)
