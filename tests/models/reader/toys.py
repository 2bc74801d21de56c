"""A reader small enough for milliseconds: a vocabulary of sixty ids and a body of 32 dimensions."""

from typing import Any

import torch

from memory.values.predicates import PREDICATES
from memory.values.understanding.readings import Context, Intent, MessageKind, Qualifier, ReadRequest
from models.assets.catalog import DEFAULT_MODEL
from models.body.edit_units import EditUnitTokenizer
from models.reader.decisions import ReaderSettings
from models.reader.edits_head import EditsShape
from models.reader.facts_head import FactsShape
from models.reader.features import FeatureReader, Features
from models.reader.labels import LABELS
from models.reader.names_head import NamesShape
from models.reader.network import ReaderNetwork, ReaderShape

PAD = 1
WORDS = ("的", "of")
HIDDEN = 32
FOR_MEMORY = tuple(float(kind is MessageKind.MEMORY) for kind in MessageKind)
"""Probabilities of a message that is surely for memory."""
SHAPE = ReaderShape(
    names=NamesShape(labels=len(LABELS), hidden=HIDDEN, span=6, products=2, width=16),
    edits=EditsShape(hidden=HIDDEN, words=len(WORDS), span=6, deleted=2, place=32, pointer=16),
    facts=FactsShape(
        predicates=len(PREDICATES), qualifiers=len(Qualifier), hidden=HIDDEN, pointer=16, span=6
    ),
    intents=len(Intent),
    sources=3,
    layers=2,
    hidden=HIDDEN,
)  # fmt: skip


class ToyIds:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids


class ToyVocabulary:
    """The id of a text follows from its characters."""

    def token_to_id(self, token: str) -> int | None:
        special = {"<s>": 0, "<pad>": PAD, "</s>": 2, "<unk>": 3}
        return special.get(token, 4 + ord(token) % 56 if len(token) == 1 else None)

    def encode(self, sequence: str, *, add_special_tokens: bool = False) -> ToyIds:
        return ToyIds([4 + sum(map(ord, sequence)) % 56])

    def segment(self, run: str) -> list[tuple[int, int]]:
        """Takes pairs of characters as pieces."""
        return [(4 + sum(map(ord, run[at : at + 2])) % 56, len(run[at : at + 2])) for at in range(0, len(run), 2)]


def toy_reader() -> FeatureReader:
    return FeatureReader(EditUnitTokenizer(ToyVocabulary()), WORDS)


def toy_body(positions: int, *, layers: int = 2) -> Any:
    """A body of few dimensions and sixty token ids, for texts of at most `positions` tokens."""
    from transformers import BertConfig, BertModel

    options: dict[str, Any] = {"attn_implementation": "eager"}  # one of the keywords that the base class takes
    config = BertConfig(
        vocab_size=60,
        hidden_size=HIDDEN,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **options,
    )
    return BertModel(config, add_pooling_layer=False)


def toy_network(seed: int = 0) -> ReaderNetwork:
    torch.manual_seed(seed)
    return ReaderNetwork(toy_body(512), SHAPE)


def toy_settings(**values: Any) -> ReaderSettings:
    given: dict[str, Any] = {"shape": SHAPE, "words": WORDS, "sources": ("weibo", "msra"), "body": DEFAULT_MODEL}
    return ReaderSettings(**given | values)


def read(text: str, *turns: str, names: tuple[str, ...] = ()) -> Features:
    """The first window of a message after turns and names."""
    return toy_reader().read(ReadRequest(text=text, context=Context(turns=turns, names=names)))[0]
