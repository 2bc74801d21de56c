"""What a network reads at a token: its embedding, and a share of the word's that it is a character of.

The body was trained on the pieces of its vocabulary, and in Chinese these are mostly words. Where each character is a
token of its own, so that spans can begin and end at any of them, the body sees what it seldom saw. The piece that would
have stood there is added, through a gate that is learned for each place in a word ("lexicon-enhanced" input, as in
Ma et al. 2020, "Simplify the Usage of Lexicon in Chinese NER", and Liu et al. 2021, "LEBERT").

This module needs torch: it is loaded by what builds a network, never by importing a package.
"""

from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from .edit_units import Place

_FIRST_SHARE = 0.5


class WordEmbedding(nn.Module):
    """Embeds tokens with the pieces that cover them.

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
            body: Whose word embeddings are used.
            input_ids: Shape (batch, tokens).
            covers: Shape (batch, tokens, 2): pieces and places (`units.Cover`).

        Returns:
            Shape (batch, tokens, hidden), in the type of the body's word embeddings.
        """
        words = body.get_parameter("embeddings.word_embeddings.weight")
        pieces, places = covers.unbind(-1)
        gate = self.gate(places) * (places != Place.ALONE)[..., None]  # (batch, tokens, hidden)
        mixed: Tensor = functional.embedding(input_ids, words) + functional.embedding(pieces, words) * gate.to(words)
        return mixed
