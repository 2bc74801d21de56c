"""The BERT body for serving: no padding, dropout or pooler, and one linear layer for query, key and value.

It computes the same as transformers' `BertModel`, without importing transformers (100 MiB a process), and takes its
tensors by reference, so that they may be mapped from a file. The embedding model and the trained models run on it.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from .attention import attend
from .packed_linear import PackedLinear
from .unpadded import Layout, Unpadded

WORDS = "embeddings.word_embeddings.weight"
"""Name of the word embeddings in a body's state: they are never trained, so all models on a body share them."""

_LAYER_NAMES = {
    "attention.output.dense": "attention_out",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm",
}
"""A layer's module names in `BertModel`, mapped to those in `_Layer`."""


@dataclass(frozen=True, slots=True)
class BodyShape:
    """The sizes of a BERT body."""

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
        """The sizes in the `config.json` of a BERT model."""
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
    """The output of a body, named as in transformers.

    Attributes:
        last_hidden_state: Shape (batch, tokens, hidden), float32.
    """

    last_hidden_state: Tensor


class ServingBody(nn.Module):
    """The body; build it on the meta device and assign its state (`serving_state`).

    Embeddings are computed in fp32, the layers in the type of their weights.
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
        """Runs the body on token ids, or on vectors in place of their word embeddings.

        Args:
            input_ids: Shape (batch, tokens).
            attention_mask: Shape (batch, tokens): 1 for tokens, 0 for padding.
            token_type_ids: Shape (batch, tokens); None for type 0.
            inputs_embeds: Shape (batch, tokens, hidden).
        """
        batch, longest = attention_mask.shape
        lengths, order = attention_mask.sum(1).sort(descending=True)
        mask = attention_mask[order].bool()
        token_places = (order[:, None] * longest + torch.arange(longest, device=order.device))[mask]  # (tokens,)
        if inputs_embeds is None:
            assert input_ids is not None  # noqa: S101 - one of the two is given
            words = self.embeddings.word_embeddings(input_ids.flatten()[token_places])
        else:
            words = inputs_embeds.flatten(0, 1)[token_places]
        types = None if token_type_ids is None else token_type_ids.flatten()[token_places]
        layout = Unpadded(lengths.tolist(), attention_mask.device)
        states = self.states(words, token_places % longest, layout, types)
        padded = states.new_zeros(batch * longest, states.shape[1]).index_copy_(0, token_places, states)
        return BodyOutput(padded.view(batch, longest, -1))

    def states(self, words: Tensor, positions: Tensor, layout: Layout, types: Tensor | None = None) -> Tensor:
        """Runs the body on texts without padding.

        Args:
            words: Shape (tokens, hidden): word embeddings, or vectors in their place.
            positions: Shape (tokens,): position of each token in its text.
            layout: Layout of the texts.
            types: Shape (tokens,); None for type 0.

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
        """The type in which the layers compute."""
        return self.encoder.layer[0].qkv.bias.dtype  # type: ignore[union-attr,return-value]

    def pack(self) -> None:
        """Copies the weights of the layers into the layout of this CPU (`PackedLinear.pack`)."""
        for module in self.modules():
            if isinstance(module, PackedLinear):
                module.pack()


class _Layers(nn.Module):
    """Named as in `BertModel`, so that a network can drop layers of either."""

    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.layer = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))


class _Table(nn.Embedding):
    @override
    def reset_parameters(self) -> None:
        """Does nothing: the rows are assigned, see `PackedLinear.reset_parameters`."""


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
        type_vectors = self.token_type_embeddings.weight[0] if types is None else self.token_type_embeddings(types)
        normed: Tensor = self.LayerNorm(words + self.position_embeddings(positions) + type_vectors)
        return normed


class _Layer(nn.Module):
    def __init__(self, shape: BodyShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = PackedLinear(shape.hidden, 3 * shape.hidden)
        self.attention_out = PackedLinear(shape.hidden, shape.hidden)
        self.attention_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.up = PackedLinear(shape.hidden, shape.inner)
        self.down = PackedLinear(shape.inner, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    @override
    def forward(self, states: Tensor, layout: Layout) -> Tensor:
        attended = attend(self.qkv(states), layout, self.heads)  # (rows, hidden)
        states = self.attention_norm(self.attention_out.add(attended, states))
        output: Tensor = self.norm(self.down.add(self.up.gelu(states), states))
        return output


def serving_state(tensors: Mapping[str, Tensor], shape: BodyShape, dtype: torch.dtype) -> dict[str, Tensor]:
    """The state of a `ServingBody` without its word embeddings, from the tensors of a `BertModel`.

    Args:
        tensors: Tensors by their names in `BertModel`.
        shape: Sizes of the body.
        dtype: Type of the layers.

    Raises:
        KeyError: A tensor is missing.
    """
    state = {name: value.float() for name, value in tensors.items() if name.startswith("embeddings.") and name != WORDS}
    for number in range(shape.layers):
        for part in ("weight", "bias"):
            layer = f"encoder.layer.{number}"
            fused = [tensors[f"{layer}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
            state[f"{layer}.qkv.{part}"] = torch.cat(fused).to(dtype)
            for bert_name, name in _LAYER_NAMES.items():
                state[f"{layer}.{name}.{part}"] = tensors[f"{layer}.{bert_name}.{part}"].to(dtype)
    return state


def layer_of(name: str) -> int:
    """The layer number of a tensor of a `BertModel`; -1 for the embeddings."""
    return int(name.split(".")[2]) if name.startswith("encoder.layer.") else -1
