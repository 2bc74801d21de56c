from collections.abc import Iterator
from typing import Any

import pytest
from models.rewriter.features import FeatureReader

from models.body.edit_units import EditUnitTokenizer


class ToyIds:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids


class ToyVocabulary:
    """A vocabulary of sixty ids; the id of a text follows from its characters."""

    def token_to_id(self, token: str) -> int | None:
        special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        return special.get(token, 4 + ord(token) % 56 if len(token) == 1 else None)

    def encode(self, sequence: str, *, add_special_tokens: bool = False) -> ToyIds:
        return ToyIds([4 + sum(map(ord, sequence)) % 56])

    def segment(self, run: str) -> list[tuple[int, int]]:
        """Takes pairs of characters as pieces."""
        return [(4 + sum(map(ord, run[at : at + 2])) % 56, len(run[at : at + 2])) for at in range(0, len(run), 2)]


@pytest.fixture
def tokenizer() -> EditUnitTokenizer:
    return EditUnitTokenizer(ToyVocabulary())


@pytest.fixture
def reader(tokenizer: EditUnitTokenizer) -> FeatureReader:
    return FeatureReader(tokenizer, ["的", "of"])


def toy_body(positions: int) -> Any:
    """A body of two layers with 32 dimensions and sixty token ids, for texts of at most `positions` tokens."""
    from transformers import BertConfig, BertModel

    options: dict[str, Any] = {"attn_implementation": "eager"}  # one of the keywords that the base class takes
    config = BertConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **options,
    )
    return BertModel(config, add_pooling_layer=False)


@pytest.fixture
def toy_network() -> Iterator[Any]:
    """A network small enough to learn a few rows in a second."""
    import torch
    from models.rewriter.network import RewriterNetwork, RewriterShape

    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield RewriterNetwork(toy_body(256), RewriterShape(hidden=32, words=2, span=6, deleted=2, place=32, pointer=16))
    torch.set_num_threads(threads)
