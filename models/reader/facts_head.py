"""The head for facts: which spans are objects, what is said with each, of whom, when, and how it holds.

A fact is read from its object: every span of the message is scored as an object, an object under every predicate, and
an object with its predicate points to its subjects (the speaker, or a span of the message or of the conversation) and
to a time, and has qualifiers.

This module imports torch: it is imported where a network is built, never with its package.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.values.base import Value

from ..body.network_parts import MASKED, MultiScoreHead, gather_states
from .names_head import NamesHead, NamesShape


class FactsShape(Value):
    """Sizes of the head.

    Attributes:
        predicates: Their number.
        qualifiers: Their number.
        hidden: Width of the body.
        pointer: Width of the vectors that choose subjects and times.
        span: Units of the longest object, subject or time.
    """

    predicates: int
    qualifiers: int
    hidden: int = 384
    pointer: int = 128
    span: int = 24


@dataclass(slots=True)
class FactStates:
    """The states of a batch in the form that the head reads.

    Attributes:
        starts: Shape (batch, units, hidden): first token of each unit of the conversation, then of the message.
        ends: Shape (batch, units, hidden): last token of each.
        spans: Shape (batch, units, span): whether a span of that start and width lies inside one text.
        summary: Shape (batch, hidden): the first token.
        key_start: Shape (batch, units, pointer): each unit as the start of a subject or a time.
        key_end: Shape (batch, units, pointer): likewise as its end.
    """

    starts: Tensor
    ends: Tensor
    spans: Tensor
    summary: Tensor
    key_start: Tensor
    key_end: Tensor


class FactsHead(nn.Module):
    """Scores objects, predicates, subjects, times and qualifiers.

    Args:
        shape: Sizes of the head.
    """

    def __init__(self, shape: FactsShape) -> None:
        super().__init__()
        self.shape = shape
        hidden, pointer = shape.hidden, shape.pointer
        self.dropout = nn.Dropout(0.1)
        self.object_score = NamesHead(NamesShape(labels=1, hidden=hidden, span=shape.span))
        self.object_hidden = nn.Linear(3 * hidden, hidden)
        self.predicate_score = nn.Linear(hidden, shape.predicates)
        self.predicates = nn.Embedding(shape.predicates, hidden)
        self.fact_hidden = nn.Linear(2 * hidden, hidden)
        self.qualifiers = MultiScoreHead(hidden, states=4, width=hidden, scores=shape.qualifiers)
        self.key_start = nn.Linear(hidden, pointer)
        self.key_end = nn.Linear(hidden, pointer)
        self.subject_start = nn.Linear(hidden, pointer)
        self.subject_end = nn.Linear(hidden, pointer)
        self.subject_width = nn.Linear(hidden, shape.span)
        self.speaker_score = nn.Linear(hidden, 1)
        self.time_start = nn.Linear(hidden, pointer)
        self.time_end = nn.Linear(hidden, pointer)
        self.time_width = nn.Linear(hidden, shape.span)
        self.no_time_score = nn.Linear(hidden, 1)
        nn.init.normal_(self.predicates.weight, std=0.05)

    def encode(self, states: Tensor, unit_tokens: Tensor, spans: Tensor) -> FactStates:
        """Prepares the states of a batch.

        Args:
            states: Shape (batch, tokens, hidden), float32.
            unit_tokens: Shape (batch, units, 2): first and last token of each unit, conversation first.
            spans: See `FactStates`.
        """
        states = self.dropout(states)
        starts, ends = gather_states(states, unit_tokens[..., 0]), gather_states(states, unit_tokens[..., 1])
        return FactStates(starts, ends, spans, states[:, 0], self.key_start(starts), self.key_end(ends))

    def objects(self, facts: FactStates, rows: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """The vectors of objects, shape (objects, hidden), from their rows, first and last units, each (objects,)."""
        states = torch.cat([facts.starts[rows, first], facts.ends[rows, last], facts.summary[rows]], dim=-1)
        hidden: Tensor = self.dropout(functional.gelu(self.object_hidden(states)))
        return hidden

    def with_predicates(self, objects: Tensor, predicates: Tensor) -> Tensor:
        """The vectors of facts, shape (facts, hidden), from the vectors of their objects and their predicates."""
        states = torch.cat([objects, self.predicates(predicates)], dim=-1)
        hidden: Tensor = self.dropout(functional.gelu(self.fact_hidden(states)))
        return hidden

    def qualifier_states(self, facts: FactStates, objects: Tensor, vectors: Tensor) -> Tensor:
        """What the qualifiers of facts are read from, shape (facts, 4 · hidden).

        Args:
            facts: The states.
            objects: Shape (facts, 3): row, first and last unit of the object of each.
            vectors: Shape (facts, hidden).
        """
        rows, first, last = objects.unbind(1)
        return torch.cat([facts.starts[rows, first], facts.ends[rows, last], facts.summary[rows], vectors], dim=-1)

    def subject_scores(self, facts: FactStates, rows: Tensor, vectors: Tensor) -> Tensor:
        """Scores of subjects, shape (facts, units · span + 1); the last column is the speaker."""
        spans = self._spans(
            facts, rows, self.subject_start(vectors), self.subject_end(vectors), self.subject_width(vectors)
        )
        return torch.cat([spans, self.speaker_score(vectors)], dim=1)

    def time_scores(self, facts: FactStates, rows: Tensor, vectors: Tensor) -> Tensor:
        """Scores of times, shape (facts, units · span + 1); the last column is none."""
        spans = self._spans(facts, rows, self.time_start(vectors), self.time_end(vectors), self.time_width(vectors))
        return torch.cat([spans, self.no_time_score(vectors)], dim=1)

    def _spans(self, facts: FactStates, rows: Tensor, start: Tensor, end: Tensor, width: Tensor) -> Tensor:
        units, widths = facts.spans.shape[1:]
        starts = torch.einsum("fp,fup->fu", start, facts.key_start[rows])
        ends = torch.einsum("fp,fup->fu", end, facts.key_end[rows])
        last = torch.arange(units, device=start.device)[:, None] + torch.arange(widths, device=start.device)
        scores = (starts[:, :, None] + ends[:, last.clamp(max=units - 1)]) * self.shape.pointer**-0.5
        scores = scores + width[:, None]
        masked: Tensor = scores.masked_fill(~facts.spans[rows], MASKED).flatten(1)
        return masked
