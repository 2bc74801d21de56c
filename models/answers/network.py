"""The network: the e5 body over all lines and the question in one row, and heads for lines and for words.

All lines are read together, so that the network sees which of two that say the same kind of thing is the newer one,
and whether any of them answers. This module imports torch: it is imported where a network is built, never with its
package.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.ports.models.answer_reading import MAX_ANSWER_LINES
from memory.values.base import Value

from ..body.network_parts import MASKED, ScoreHead, WordEmbedding, gather_states
from .features import AGES, ROLES


class AnswerShape(Value):
    """Sizes of the network.

    Attributes:
        ranks: Ranks of lines by date that are told apart.
        ages: Age classes.
        roles: Roles.
        layers: Layers of the body that are kept, from the first.
        hidden: Width of the body.
        meant: Whether it has the head that says which lines a request to forget means.
        replaced: Whether it has the head that says which lines a message replaces.
        clause: Whether it has the head that says which clauses of a message a request to forget means.
    """

    ranks: int = MAX_ANSWER_LINES
    ages: int = AGES
    roles: int = len(ROLES)
    layers: int = 12
    hidden: int = 384
    meant: bool = False
    replaced: bool = False
    clause: bool = False


class LineScores(NamedTuple):
    """What each line of a row is to its question; lines that the row does not have get `MASKED` but in `outdated`.

    Attributes:
        answers: Scores of answering, (batch, lines): those of a softmax over the lines and none.
        outdated: Log-odds of being outdated, (batch, lines).
        none: The score of no answer, (batch,).
        meant: How much the question, as a request to forget, means the line, (batch, lines): scores of a softmax over
            the lines and none, whose score is 0; all `MASKED` without a head.
        replaced: The same for the question as a message after which the line holds no longer.
        clause: Log-odds that the question, as a request to forget, means the line, where the lines are the clauses of
            one message, (batch, lines); all `MASKED` without a head.
    """

    answers: Tensor
    outdated: Tensor
    none: Tensor
    meant: Tensor
    replaced: Tensor
    clause: Tensor


class AnswerNetwork(nn.Module):
    """The body and the heads.

    Args:
        body: A `BertModel` without a pooler; it loses the layers after `shape.layers`.
        shape: Sizes of the network.
    """

    def __init__(self, body: nn.Module, shape: AnswerShape) -> None:
        super().__init__()
        self.body = body
        self.shape = shape
        layers = body.get_submodule("encoder.layer")
        del layers[shape.layers :]  # type: ignore[operator]
        hidden = shape.hidden
        self.words = WordEmbedding(hidden)
        self.ranks = nn.Embedding(shape.ranks, hidden)
        self.ages = nn.Embedding(shape.ages, hidden)
        self.roles = nn.Embedding(shape.roles, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(0.1)
        self.line_hidden = nn.Linear(5 * hidden, hidden)
        self.line_score = nn.Linear(hidden, 2)
        self.none_hidden = nn.Linear(3 * hidden, hidden)
        self.none_score = nn.Linear(hidden, 1)
        self.word_hidden = nn.Linear(hidden, hidden)
        self.word_score = nn.Linear(hidden, 2)
        self.wordless_score = nn.Linear(hidden, 2)
        self.meant = ScoreHead(hidden, states=5) if shape.meant else None
        self.replaced = ScoreHead(hidden, states=5) if shape.replaced else None
        self.clause = ScoreHead(hidden, states=5) if shape.clause else None
        for embedding in (self.ranks, self.ages, self.roles):
            nn.init.normal_(embedding.weight, std=0.01)

    def states(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Runs the body.

        Args:
            batch: `input_ids`, `attention_mask` and `token_type_ids`, each (batch, tokens): type 1 is the question;
                `covers` (batch, tokens, 2); `line_of` (batch, tokens): the line of each token, 0 for none, else one
                more than its number; `ranks`, `ages` and `roles`, each (batch, lines).

        Returns:
            Shape (batch, tokens, hidden), float32, normed.
        """
        embedded = self.words(self.body, batch["input_ids"], batch["covers"])  # (batch, tokens, hidden)
        lines = self.ranks(batch["ranks"]) + self.ages(batch["ages"]) + self.roles(batch["roles"])
        lines = functional.pad(lines, (0, 0, 1, 0))  # (batch, 1 + lines, hidden): zeros for tokens of no line
        output: Tensor = self.body(
            inputs_embeds=embedded + gather_states(lines, batch["line_of"]).to(embedded.dtype),
            attention_mask=batch["attention_mask"],
            token_type_ids=batch["token_type_ids"],
        ).last_hidden_state
        normed: Tensor = self.dropout(self.norm(output.float()))
        return normed

    def line_inputs(self, states: Tensor, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What the heads for lines read: each line beside the question, and the question.

        Args:
            states: From `states`.
            batch: Besides `line_tokens` (batch, lines, 2): first token and separator of each line.

        Returns:
            Shapes (batch, lines, 5 · hidden) and (batch, hidden).
        """
        of_line = functional.one_hot(batch["line_of"], batch["ranks"].shape[1] + 1)[..., 1:].float()
        of_question = (batch["token_type_ids"] * batch["attention_mask"])[..., None].float()
        means = of_line.transpose(1, 2) @ states / of_line.sum(1).clamp(min=1.0)[..., None]  # (batch, lines, hidden)
        asked = (states * of_question).sum(1) / of_question.sum(1).clamp(min=1.0)
        ends = gather_states(states, batch["line_tokens"])  # (batch, lines, 2, hidden)
        question = asked[:, None].expand_as(means)
        return torch.cat([ends.flatten(2), means, question, means * question], dim=-1), asked

    def line_scores(self, states: Tensor, batch: Mapping[str, Tensor]) -> LineScores:
        """What each line is to the question.

        Args:
            states: From `states`.
            batch: As of `line_inputs`; `line_counts` (batch,).
        """
        inputs, asked = self.line_inputs(states, batch)
        hidden = functional.gelu(self.line_hidden(inputs))  # (batch, lines, hidden)
        answers, outdated = self.line_score(self.dropout(hidden)).unbind(-1)
        missing = torch.arange(answers.shape[1], device=states.device) >= batch["line_counts"][:, None]
        answers = answers.masked_fill(missing, MASKED)
        best = (answers.softmax(1)[..., None] * hidden).sum(1)  # (batch, hidden)
        summary = torch.cat([states[:, 0], asked, best], dim=-1)
        none: Tensor = self.none_score(self.dropout(functional.gelu(self.none_hidden(summary))))[:, 0]
        of_heads = (
            torch.full_like(answers, MASKED) if head is None else head(inputs).masked_fill(missing, MASKED)
            for head in (self.meant, self.replaced, self.clause)
        )
        return LineScores(answers, outdated, none, *of_heads)

    def word_scores(self, states: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        """Where the words that answer begin and end in each line.

        Args:
            states: From `states`.
            batch: Besides `unit_tokens` (batch, lines, units, 2) and `unit_counts` (batch, lines).

        Returns:
            Shape (batch, lines, 1 + units, 2): scores of the first and of the last unit, after those of no words;
            `MASKED` where a line has no unit.
        """
        hidden = functional.gelu(self.word_hidden(states))  # (batch, tokens, hidden)
        places = gather_states(self.word_score(hidden), batch["unit_tokens"])  # (batch, lines, units, 2, 2)
        scores = torch.stack([places[..., 0, 0], places[..., 1, 1]], dim=-1)  # first token starts, last token ends
        units = torch.arange(scores.shape[2], device=states.device)
        scores = scores.masked_fill((units >= batch["unit_counts"][..., None])[..., None], MASKED)
        wordless = gather_states(self.wordless_score(hidden), batch["line_tokens"][..., 1])  # (batch, lines, 2)
        return torch.cat([wordless[:, :, None], scores], dim=2)
