"""A BERT body as it is served: no padding, no dropout, no pooler, one product for query, key and value.

It computes what transformers' `BertModel` computes and takes its tensors by reference, so that they may lie in a mapped
file; and it does not need transformers, whose import costs a process 100 MiB. The embedding model and the trained
models run on it.

This module needs torch: it is loaded by what builds a network, never by importing a package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from .attention import attend
from .packed_linear import Product
from .unpadded import Layout, Unpadded

WORDS = "embeddings.word_embeddings.weight"
"""The word embeddings in a body's state: never trained, so every model on one body shares them."""

_LAYER_NAMES = {
    "attention.output.dense": "mix",
    "attention.output.LayerNorm": "mix_norm",
    "intermediate.dense": "widen",
    "output.dense": "narrow",
    "output.LayerNorm": "narrow_norm",
}


@dataclass(frozen=True, slots=True)
class BodyShape:
    """What a body is built from."""

    vocabulary: int
    positions: int
    types: int
    hidden: int
    inner: int
    heads: int
    layers: int
    epsilon: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "BodyShape":
        """From the `config.json` of a BERT model."""
        return cls(
            vocabulary=config["vocab_size"],
            positions=config["max_position_embeddings"],
            types=config["type_vocab_size"],
            hidden=config["hidden_size"],
            inner=config["intermediate_size"],
            heads=config["num_attention_heads"],
            layers=config["num_hidden_layers"],
            epsilon=config["layer_norm_eps"],
        )


@dataclass(slots=True)
class BodyOutput:
    """What the body gives.

    Attributes:
        last_hidden_state: Shape (batch, tokens, hidden), float32.
    """

    last_hidden_state: Tensor


class ServingBody(nn.Module):
    """The body; build it on the meta device and assign its state (`serving_state`).

    Embeddings stay in fp32, which costs nothing; the layers compute in the type of their weights.
    """

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.embeddings = _Embeddings(shape)
        self.encoder = _Layers(shape)

    @override
    def forward(
        self,
        input_ids: Tensor | None = None,
        *,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
    ) -> BodyOutput:
        """Runs the body on token ids, or on vectors that take the place of their word embeddings.

        Args:
            input_ids: Shape (batch, tokens).
            attention_mask: Shape (batch, tokens): 1 where there is a token, 0 where there is padding.
            token_type_ids: Shape (batch, tokens); all of the first type where it is not given.
            inputs_embeds: Shape (batch, tokens, hidden).
        """
        batch, longest = attention_mask.shape
        lengths, order = attention_mask.sum(1).sort(descending=True)
        mask = attention_mask[order].bool()
        taken = (order[:, None] * longest + torch.arange(longest, device=order.device))[mask]  # (tokens,), in the batch
        if inputs_embeds is None:
            assert input_ids is not None  # noqa: S101 - one of both is given
            words = self.embeddings.word_embeddings(input_ids.flatten()[taken])
        else:
            words = inputs_embeds.flatten(0, 1)[taken]
        types = None if token_type_ids is None else token_type_ids.flatten()[taken]
        layout = Unpadded(lengths.tolist(), attention_mask.device)
        states = self.states(words, taken % longest, layout, types)
        padded = states.new_zeros(batch * longest, states.shape[1]).index_copy_(0, taken, states)
        return BodyOutput(padded.view(batch, longest, -1))

    def states(self, words: Tensor, positions: Tensor, layout: Layout, types: Tensor | None = None) -> Tensor:
        """Runs the body on texts that lie end to end.

        Args:
            words: Shape (tokens, hidden): word embeddings, or what takes their place.
            positions: Shape (tokens,): of each token in its text.
            layout: Of the texts.
            types: Shape (tokens,); all of the first type where it is not given.

        Returns:
            Shape (tokens, hidden), float32.
        """
        embedded = self.embeddings(words, positions, types)
        states = functional.pad(embedded, (0, 0, 0, layout.rows - layout.tokens)).to(self.dtype)
        for layer in self.encoder.layer:
            states = layer(states, layout)
        return states[: layout.tokens].float()

    @property
    def dtype(self) -> torch.dtype:
        """In which the layers compute."""
        return self.encoder.layer[0].qkv.bias.dtype  # type: ignore[union-attr,return-value]

    def pack(self) -> None:
        """Lays the weights of the layers out for this CPU, in memory of this process (`Product.pack`)."""
        for module in self.modules():
            if isinstance(module, Product):
                module.pack()


class _Layers(nn.Module):
    """Named as in `BertModel`, so that a network which needs fewer layers finds them."""

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))


class _Table(nn.Embedding):
    @override
    def reset_parameters(self) -> None:
        """Its rows are assigned, as `Product`'s weights are."""


class _Embeddings(nn.Module):
    """Named as in `BertModel`."""

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.word_embeddings = _Table(shape.vocabulary, shape.hidden)
        self.position_embeddings = _Table(shape.positions, shape.hidden)
        self.token_type_embeddings = _Table(shape.types, shape.hidden)
        self.LayerNorm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    @override
    def forward(self, words: Tensor, positions: Tensor, types: Tensor | None) -> Tensor:
        told = self.token_type_embeddings.weight[0] if types is None else self.token_type_embeddings(types)
        normed: Tensor = self.LayerNorm(words + self.position_embeddings(positions) + told)
        return normed


class _Layer(nn.Module):
    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = Product(shape.hidden, 3 * shape.hidden)
        self.mix = Product(shape.hidden, shape.hidden)
        self.mix_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.widen = Product(shape.hidden, shape.inner)
        self.narrow = Product(shape.inner, shape.hidden)
        self.narrow_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    @override
    def forward(self, states: Tensor, layout: Layout) -> Tensor:
        mixed = attend(self.qkv(states), layout, self.heads)
        states = self.mix_norm(self.mix.plus(mixed, states))
        result: Tensor = self.narrow_norm(self.narrow.plus(self.widen.gelu(states), states))
        return result


def serving_state(tensors: Mapping[str, Tensor], shape: BodyShape, dtype: torch.dtype) -> dict[str, Tensor]:
    """The state of a `ServingBody` from the tensors of a `BertModel`, but for its word embeddings.

    Args:
        tensors: By the names that `BertModel` gives them.
        shape: Of the body.
        dtype: In which the layers compute.

    Raises:
        KeyError: A tensor is missing.
    """
    state = {name: value.float() for name, value in tensors.items() if name.startswith("embeddings.") and name != WORDS}
    for number in range(shape.layers):
        for part in ("weight", "bias"):
            layer = f"encoder.layer.{number}"
            fused = [tensors[f"{layer}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            state[f"{layer}.qkv.{part}"] = torch.cat(fused).to(dtype)
            for long, short in _LAYER_NAMES.items():
                state[f"{layer}.{short}.{part}"] = tensors[f"{layer}.{long}.{part}"].to(dtype)
    return state


def layer_of(name: str) -> int:
    """The layer that a tensor of a `BertModel` belongs to; -1 for the embeddings."""
    return int(name.split(".")[2]) if name.startswith("encoder.layer.") else -1
