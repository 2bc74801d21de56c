"""Parts of networks on the body: the input embedding of the reader, a small head, and helpers of their heads.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from .edit_units import Place

MASKED = -1e4
"""The score of what a row does not have."""
_FIRST_SHARE = 0.5


class WordEmbedding(nn.Module):
    """Adds to the embedding of each token a share of that of the vocabulary piece that contains it.

    The body was trained on pieces, which in Chinese are mostly words; here each Han character is a token, so that spans
    can begin and end at any of them. The piece's embedding is weighted by a learned gate for each place in a piece
    ("lexicon-enhanced" input, as in Ma et al. 2020, "Simplify the Usage of Lexicon in Chinese NER", and Liu et al.
    2021, "LEBERT").

    Args:
        hidden: Width of the body.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Embedding(len(Place), hidden)
        nn.init.constant_(self.gate.weight, _FIRST_SHARE)

    @override
    def forward(self, body: nn.Module, input_ids: Tensor, covers: Tensor) -> Tensor:
        """Embeds a batch.

        Args:
            body: Provides the word embeddings.
            input_ids: Shape (batch, tokens).
            covers: Shape (batch, tokens, 2): pieces and places (`edit_units.Cover`).

        Returns:
            Shape (batch, tokens, hidden), in the type of the body's word embeddings.
        """
        words = body.get_parameter("embeddings.word_embeddings.weight")
        pieces, places = covers.unbind(-1)
        gate = self.gate(places) * (places != Place.ALONE)[..., None]  # (batch, tokens, hidden)
        embedded: Tensor = functional.embedding(input_ids, words) + functional.embedding(pieces, words) * gate.to(words)
        return embedded


class MultiScoreHead(nn.Module):
    """Scores for each row of a frozen network's states: small enough to be trained alone (`training.shared.heads`).

    Args:
        hidden: Width of a state.
        states: States side by side in a row.
        width: Of the layer between.
        scores: Their number.
    """

    def __init__(self, hidden: int, *, states: int, width: int, scores: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(states * hidden, width)
        self.dropout = nn.Dropout(0.3)
        self.score = nn.Linear(width, scores)

    @override
    def forward(self, rows: Tensor) -> Tensor:
        """The scores of rows, shape (…, states · hidden) to (…, scores)."""
        scores: Tensor = self.score(self.dropout(functional.gelu(self.hidden(rows))))
        return scores


class ScoreHead(MultiScoreHead):
    """One score for each row, see `MultiScoreHead`."""

    def __init__(self, hidden: int, *, states: int) -> None:
        super().__init__(hidden, states=states, width=hidden // 3, scores=1)

    @override
    def forward(self, rows: Tensor) -> Tensor:
        """The scores of rows, shape (…, states · hidden) to (…)."""
        return super().forward(rows)[..., 0]


def gather_states(states: Tensor, positions: Tensor) -> Tensor:
    """The states at positions: (batch, tokens, hidden) and (batch, …) to (batch, …, hidden)."""
    flat = positions.flatten(1)
    gathered = states.gather(1, flat[..., None].expand(-1, -1, states.shape[-1]))
    return gathered.view(*positions.shape, states.shape[-1])


@contextmanager
def evaluating(network: nn.Module) -> Iterator[torch.device]:
    """Puts a network into evaluation mode without gradients, yields its device, and restores the mode afterwards."""
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        yield next(network.parameters()).device
    network.train(was_training)
