"""The network: the e5 body and a head that scores every span of at most `span` units under every label.

A span's score is the sum of how well its ends go together (products of rotated vectors, mixed anew for each label), of
its first and its last token, and of its width; above 0 it is more probably a name than not. After "Global Pointer"
(Su 2021/2022, efficient form), with several products instead of one.

Sources mark differently what they call alike. A vector for the source, added to the input, tells the network whose
habits to follow; without one it follows what they have in common, which is how it reads a chat.

This module needs torch: it is loaded by what builds a network, never by importing the package.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from ..body.word_embedding import WordEmbedding

NO_SOURCE = 0
MASKED = -1e4
_NO_NAME = -6.0


@dataclass(frozen=True, slots=True)
class TaggerShape:
    """What the head is built from.

    Attributes:
        labels: How many there are.
        sources: How many data sets are told apart, no source included.
        hidden: Width of the body.
        span: Units of the longest span.
        products: Products of the two ends.
        width: Width of the vectors that are multiplied; even.
    """

    labels: int
    sources: int
    hidden: int = 384
    span: int = 24
    products: int = 4
    width: int = 64

    def as_dict(self) -> dict[str, int]:
        """For a file."""
        return asdict(self)


class TaggerNetwork(nn.Module):
    """The body and the head.

    Args:
        body: A `BertModel` without a pooler.
        shape: What the head is built from.
    """

    def __init__(self, body: nn.Module, shape: TaggerShape) -> None:
        super().__init__()
        self.body = body
        self.shape = shape
        self.norm = nn.LayerNorm(shape.hidden)
        self.dropout = nn.Dropout(0.1)
        self.sources = nn.Embedding(shape.sources, shape.hidden)
        self.first = nn.Linear(shape.hidden, shape.products * shape.width)
        self.last = nn.Linear(shape.hidden, shape.products * shape.width)
        self.mix = nn.Linear(shape.products, shape.labels, bias=False)
        self.start_score = nn.Linear(shape.hidden, shape.labels)
        self.end_score = nn.Linear(shape.hidden, shape.labels, bias=False)
        self.width_score = nn.Embedding(shape.span, shape.labels)
        self.words = WordEmbedding(shape.hidden)
        nn.init.normal_(self.sources.weight, std=0.02)
        # The body's states are small and alike (what differs between tokens is a third of their length). Without wider
        # products, and a start from "no span is a name", the first steps are spent on pushing all scores down, through
        # the body too, from which it hardly recovers.
        for product in (self.first, self.last):
            nn.init.normal_(product.weight, std=0.06)
        nn.init.constant_(self.start_score.bias, _NO_NAME)
        nn.init.normal_(self.mix.weight, mean=shape.products**-0.5, std=0.1)
        nn.init.zeros_(self.width_score.weight)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Scores.

        Args:
            batch: `input_ids` and `attention_mask` (batch, tokens); `covers` (batch, tokens, 2); `sources` (batch,);
                `unit_tokens` (batch, units, 2); `unit_counts` (batch,).

        Returns:
            Shape (batch, units, span, labels), float32, by first unit and width; `MASKED` where a span ends behind
            the text.
        """
        sources = batch["sources"]
        embedded = self.words(self.body, batch["input_ids"], batch["covers"])  # (batch, tokens, hidden)
        told = self.sources(sources) * (sources != NO_SOURCE)[:, None]  # (batch, hidden)
        states = self.body(
            inputs_embeds=embedded + told.to(embedded.dtype)[:, None], attention_mask=batch["attention_mask"]
        ).last_hidden_state.float()  # (batch, tokens, hidden)
        states = self.dropout(self.norm(states))
        starts = _gather(states, batch["unit_tokens"][..., 0])  # (batch, units, hidden)
        ends = _gather(states, batch["unit_tokens"][..., 1])
        units = starts.shape[1]
        last = torch.arange(units, device=states.device)[:, None] + torch.arange(self.shape.span, device=states.device)
        inside = last.clamp(max=units - 1)  # (units, span)
        pairs = self._pairs(starts, ends)  # (batch, products, units, units)
        pairs = pairs.gather(3, inside.expand(*pairs.shape[:2], -1, -1)).permute(0, 2, 3, 1)
        scores: Tensor = self.mix(pairs) + self.start_score(starts)[:, :, None] + self.width_score.weight
        scores = scores + self.end_score(ends)[:, inside]
        outside = last >= batch["unit_counts"][:, None, None]  # (batch, units, span)
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


def _gather(states: Tensor, positions: Tensor) -> Tensor:
    """States at positions: (batch, tokens, hidden) and (batch, units) give (batch, units, hidden)."""
    return states.gather(1, positions[..., None].expand(-1, -1, states.shape[-1]))
