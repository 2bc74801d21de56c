"""The e5 body as it is served: no dropout, no pooler, one product for query, key and value, weights in place.

It computes what transformers' `BertModel` computes and takes its tensors by reference, so that they may lie in a mapped
file; and it does not need transformers, whose import costs a process 100 MiB.

This module needs torch: it is loaded by what builds a network, never by importing a package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

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
        words = self.embeddings.word_embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        states: Tensor = self.embeddings(words, token_type_ids)
        is_padded = not bool(attention_mask.all())
        mask = attention_mask.bool()[:, None, None, :] if is_padded else None  # without one the product is faster
        for layer in self.encoder.layer:
            states = layer(states, mask)
        return BodyOutput(states.float())


class _Layers(nn.Module):
    """Named as in `BertModel`, so that a network which needs fewer layers finds them."""

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))


class _Embeddings(nn.Module):
    """Named as in `BertModel`."""

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(shape.vocabulary, shape.hidden)
        self.position_embeddings = nn.Embedding(shape.positions, shape.hidden)
        self.token_type_embeddings = nn.Embedding(shape.types, shape.hidden)
        self.LayerNorm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    @override
    def forward(self, words: Tensor, token_type_ids: Tensor | None) -> Tensor:
        types = self.token_type_embeddings
        told = types.weight[0] if token_type_ids is None else types(token_type_ids)
        places = self.position_embeddings.weight[: words.shape[1]]
        normed: Tensor = self.LayerNorm(words + places + told)
        return normed


class _Layer(nn.Module):
    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.mix = nn.Linear(shape.hidden, shape.hidden)
        self.mix_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.widen = nn.Linear(shape.hidden, shape.inner)
        self.narrow = nn.Linear(shape.inner, shape.hidden)
        self.narrow_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    @override
    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        batch, tokens, hidden = states.shape
        states = states.to(self.qkv.weight.dtype)
        split = self.qkv(states).view(batch, tokens, 3, self.heads, hidden // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (batch, heads, tokens, hidden / heads)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, hidden)
        states = self.mix_norm(states + self.mix(mixed))
        result: Tensor = self.narrow_norm(states + self.narrow(functional.gelu(self.widen(states))))
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
