"""The reader's network: the e5 body over conversation and message, and one head for each thing that it finds.

Data sets mark the same names by different guidelines. A vector for the data set ("source"), added to the input,
selects its guidelines; without one the network follows what they have in common, which is how it reads a chat.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.values.base import Value
from memory.values.understanding.readings import MessageKind

from ..body.network_parts import MultiScoreHead, ScoreHead, WordEmbedding
from .edits_head import EditsHead, EditsShape
from .facts_head import FactsHead, FactsShape
from .names_head import NamesHead, NamesShape

NO_SOURCE = 0


class ReaderShape(Value):
    """Sizes of the heads.

    Attributes:
        names: Of the head for names.
        edits: Of the head for references and gaps.
        facts: Of the head for facts.
        intents: Number of intents.
        sources: Number of data sets, with one more for none.
        layers: Layers of the body that are kept, from the first.
        hidden: Width of the body.
    """

    names: NamesShape
    edits: EditsShape
    facts: FactsShape
    intents: int
    sources: int
    layers: int = 12
    hidden: int = 384


class MessageScores(NamedTuple):
    """Log-odds of what messages are for: of each intent (batch, intents); the others (batch,).

    Attributes:
        intents: In the order of `Intent`.
        ask: That a reference is ambiguous.
        overview: That it asks for all that is known of someone or something.
        forget: That it asks to forget something.
        changes: That something said before holds no longer after it.
        kinds: Of each `MessageKind`, in order, sharing one probability; (batch, kinds).
    """

    intents: Tensor
    ask: Tensor
    overview: Tensor
    forget: Tensor
    changes: Tensor
    kinds: Tensor


class ReaderNetwork(nn.Module):
    """The body and the heads.

    Args:
        body: A `BertModel` without a pooler; it loses the layers after `shape.layers`.
        shape: Sizes of the heads.
    """

    def __init__(self, body: nn.Module, shape: ReaderShape) -> None:
        super().__init__()
        self.body = body
        self.shape = shape
        layers = body.get_submodule("encoder.layer")
        del layers[shape.layers :]  # type: ignore[operator]
        self.words = WordEmbedding(shape.hidden)
        self.sources = nn.Embedding(shape.sources, shape.hidden)
        self.names = NamesHead(shape.names)
        self.edits = EditsHead(shape.edits)
        self.facts = FactsHead(shape.facts)
        self.intent_hidden = nn.Linear(2 * shape.hidden, shape.hidden)
        self.intent_score = nn.Linear(shape.hidden, shape.intents)
        self.ask_hidden = nn.Linear(2 * shape.hidden, shape.hidden)
        self.ask_score = nn.Linear(shape.hidden, 1)
        self.overview = ScoreHead(shape.hidden, states=2)
        self.forget = ScoreHead(shape.hidden, states=2)
        self.changes = ScoreHead(shape.hidden, states=2)
        self.kinds = kinds_head(shape.hidden)
        nn.init.normal_(self.sources.weight, std=0.02)

    def states(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Runs the body.

        Args:
            batch: `input_ids`, `attention_mask` and `token_type_ids`, each (batch, tokens): type 1 is the message;
                `covers` (batch, tokens, 2); `sources` (batch,): the data set whose guidelines to follow.

        Returns:
            Shape (batch, tokens, hidden), float32.
        """
        sources = batch["sources"]
        embedded = self.words(self.body, batch["input_ids"], batch["covers"])  # (batch, tokens, hidden)
        source_vectors = self.sources(sources) * (sources != NO_SOURCE)[:, None]  # (batch, hidden)
        output: Tensor = self.body(
            inputs_embeds=embedded + source_vectors.to(embedded.dtype)[:, None],
            attention_mask=batch["attention_mask"],
            token_type_ids=batch["token_type_ids"],
        ).last_hidden_state
        return output.float()

    def summary(self, states: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        """What the message is about as a whole: the first state beside the mean, shape (batch, 2 · hidden)."""
        of_message = (batch["token_type_ids"] * batch["attention_mask"])[..., None].float()
        mean = (states * of_message).sum(1) / of_message.sum(1).clamp(min=1.0)
        return torch.cat([states[:, 0], mean], dim=-1)

    def message_scores(self, states: Tensor, batch: Mapping[str, Tensor]) -> MessageScores:
        """Log-odds of what a message is for."""
        summary = self.summary(states, batch)
        intents: Tensor = self.intent_score(functional.gelu(self.intent_hidden(summary)))
        ask: Tensor = self.ask_score(functional.gelu(self.ask_hidden(summary)))
        requests = (head(summary) for head in (self.overview, self.forget, self.changes, self.kinds))
        return MessageScores(intents, ask[:, 0], *requests)


def kinds_head(hidden: int) -> MultiScoreHead:
    """The head that tells for what a message is, of `ReaderNetwork.summary`: a score for each `MessageKind`."""
    return MultiScoreHead(hidden, states=2, width=hidden, scores=len(MessageKind))
