"""The network: the e5 body and a head that scores every span of at most `span` units under every label.

A span's score is the sum of how well its ends go together (products of rotated vectors, mixed anew for each label), of
its first and its last token, and of its width; above 0 it is more probably a name than not. After "Global Pointer"
(Su 2021/2022, efficient form), with several products instead of one.

Data sets annotate the same types by different guidelines. A vector for the data set ("source"), added to the input,
selects its guidelines; without one the network follows what they have in common, which is how it reads a chat.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Mapping

import torch
from pydantic import field_validator
from torch import Tensor, nn
from typing_extensions import override

from memory.values.base import Value
from memory.values.mentions import EntitySubtype

from ..assets.weight_files import WeightSettings
from ..body.network_parts import WordEmbedding, gather_states
from .labels import LABELS

NO_SOURCE = 0
MASKED = -1e4
_NO_NAME = -6.0


class TaggerShape(Value):
    """Sizes of the head.

    Attributes:
        labels: How many there are.
        sources: Number of data sets, with one more for none.
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


class TaggerSettings(WeightSettings):
    """Settings in the tagger's weight file.

    Attributes:
        shape: Of the head.
        labels: Those that the network was trained for, in order.
        sources: Names of the data sets whose annotation guidelines can be followed, from number 1.
        thresholds: Least probability of each subtype.
    """

    component = "tagger"

    format: int = 2
    shape: TaggerShape
    labels: tuple[str, ...] = LABELS
    sources: tuple[str, ...]
    thresholds: Mapping[EntitySubtype, float]

    @field_validator("labels")
    @classmethod
    def _labels_are_known(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if labels != LABELS:
            raise ValueError("the file was trained for other labels")
        return labels


class TaggerNetwork(nn.Module):
    """The body and the head.

    Args:
        body: A `BertModel` without a pooler.
        shape: Sizes of the head.
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
        # The body's states are small and alike (the difference between tokens is a third of their length). Without
        # wider products, and a start from "no span is a name", the first steps push all scores down, through the body
        # too, from which training hardly recovers.
        for product in (self.first, self.last):
            nn.init.normal_(product.weight, std=0.06)
        nn.init.constant_(self.start_score.bias, _NO_NAME)
        nn.init.normal_(self.mix.weight, mean=shape.products**-0.5, std=0.1)
        nn.init.zeros_(self.width_score.weight)

    @override
    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Scores of all spans.

        Args:
            batch: `input_ids` and `attention_mask` (batch, tokens); `covers` (batch, tokens, 2); `sources` (batch,);
                `unit_tokens` (batch, units, 2); `unit_counts` (batch,).

        Returns:
            Shape (batch, units, span, labels), float32, by first unit and width; `MASKED` where a span ends after
            the text.
        """
        sources = batch["sources"]
        embedded = self.words(self.body, batch["input_ids"], batch["covers"])  # (batch, tokens, hidden)
        source_vectors = self.sources(sources) * (sources != NO_SOURCE)[:, None]  # (batch, hidden)
        states = self.body(
            inputs_embeds=embedded + source_vectors.to(embedded.dtype)[:, None], attention_mask=batch["attention_mask"]
        ).last_hidden_state.float()  # (batch, tokens, hidden)
        states = self.dropout(self.norm(states))
        starts = gather_states(states, batch["unit_tokens"][..., 0])  # (batch, units, hidden)
        ends = gather_states(states, batch["unit_tokens"][..., 1])
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
