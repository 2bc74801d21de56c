"""The network: the e5 body over query and passage separately, and the match of their tokens.

Every token of the query looks for the most similar token of the passage; the score is the weighted mean of these
cosines ("late interaction", Khattab and Zaharia 2020, ColBERT), that of the best stretch of a long passage. It ranks
well without training, best after the ninth layer: the last ones are trained for the single vector of a text. Since
passages are read without the query, their vectors serve the next query as well.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.values.base import Value

from ..assets.weight_files import WeightSettings
from .pairs import Tokens
from .scorer import COMPONENT

_FIRST_SCALE = 20.0
_FIRST_BIAS = -14.0
_NO_MATCH = -1e4
STRETCH = 128
"""Tokens of a passage in which a query is looked for at a time: in a long one each token of the query would find a
similar one somewhere. On paragraphs of 290 tokens 64 and 128 rank alike, better than the whole; memories are mostly
shorter, and at 64 LoCoMo loses a point of nDCG@10 (67.8 as a whole, 67.7, 66.6)."""
_STEP = STRETCH // 2


class RerankerShape(Value):
    """Sizes of the network.

    Attributes:
        hidden: Width of the body.
        layers: Layers of the body that are used, from the first.
    """

    hidden: int = 384
    layers: int = 9


class RerankerSettings(WeightSettings):
    """Settings in the reranker's weight file.

    Attributes:
        shape: Of the network.
        temperature: Logits are divided by it before they become probabilities.
    """

    component = COMPONENT

    format: int = 1
    shape: RerankerShape
    temperature: float


class RerankerNetwork(nn.Module):
    """The body and the comparison of tokens.

    Args:
        body: A `BertModel` without a pooler; layers that are not used are taken out of it.
        shape: Sizes of the network.
    """

    def __init__(self, body: nn.Module, shape: RerankerShape) -> None:
        super().__init__()
        self.body = body
        self.shape = shape
        layers = body.get_submodule("encoder.layer")
        assert isinstance(layers, nn.ModuleList)  # noqa: S101 - a BertModel's are
        del layers[shape.layers :]
        self.scale = nn.Parameter(torch.tensor([_FIRST_SCALE]))
        self.bias = nn.Parameter(torch.tensor([_FIRST_BIAS]))
        self.weigh = nn.Linear(shape.hidden, 1)
        nn.init.zeros_(self.weigh.weight)
        nn.init.zeros_(self.weigh.bias)

    def encode(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Vectors of tokens.

        Args:
            batch: `input_ids` and `attention_mask`, each (texts, tokens).

        Returns:
            Shape (texts, tokens, hidden), float32, each of length 1.
        """
        states = self.body(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        return functional.normalize(states.float(), dim=-1)

    def match(self, query: Tensor, asked: Tensor, passages: Tensor, mask: Tensor) -> Tensor:
        """Scores of passages for queries.

        Args:
            query: Shape (queries, query tokens, hidden), from `encode`.
            asked: Shape (queries, query tokens): 1 for each token that is matched.
            passages: Shape (queries, passages, passage tokens, hidden), from `encode`.
            mask: Shape (queries, passages, passage tokens): 1 where there is a token.

        Returns:
            Shape (queries, passages): logits of "this passage answers this query".
        """
        cosines = torch.einsum("qth,qpsh->qpts", query, passages).masked_fill(mask[:, :, None] == 0, _NO_MATCH)
        tail = -max(0, cosines.shape[3] - STRETCH) % _STEP + max(0, STRETCH - cosines.shape[3])
        stretches = functional.pad(cosines, (0, tail), value=_NO_MATCH).unfold(3, STRETCH, _STEP)
        best = stretches.amax(dim=4)  # (queries, passages, query tokens, stretches)
        weights = 2.0 * self.weigh(query * self.shape.hidden**0.5).squeeze(-1).sigmoid() * asked
        weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-6)
        scores = (best * weights[:, None, :, None]).sum(dim=2).amax(dim=2)  # (queries, passages)
        logits: Tensor = self.scale * scores + self.bias
        return logits


def pad(texts: Sequence[Tokens], *, pad_id: int) -> dict[str, Tensor]:
    """A batch for `RerankerNetwork.encode`.

    Args:
        texts: At least one.
        pad_id: Token id of padding.
    """
    shape = len(texts), max(map(len, texts))
    input_ids, mask = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64)
    for row, ids in enumerate(texts):
        input_ids[row, : len(ids)] = ids
        mask[row, : len(ids)] = 1
    return {"input_ids": torch.from_numpy(input_ids), "attention_mask": torch.from_numpy(mask)}


def asked_tokens(query: Tokens, asked_from: int) -> Tokens:
    """1 for each token of a query that is matched: not the prefix, not the end; all tokens of an empty query."""
    asked = np.zeros(len(query), np.int64)
    asked[asked_from:-1] = 1
    return asked if asked.any() else np.ones(len(query), np.int64)
