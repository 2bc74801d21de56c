"""The head for references and gaps: the place of each edit, and the spans that are copied there.

A rewrite is a chain of choices from left to right: the place of the next edit, or that there is none (so "leave the
query as it is" is the first choice of the chain and has a probability of its own), and, inside an edit, the next span,
or that the edit is complete. Each choice is one softmax over all candidates, so a span is scored as a whole, by its
start, its end, both together and its width.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from memory.values.base import Value

from ..body.network_parts import gather_states

NOWHERE = -1
_MASKED = -1e9


class EditsShape(Value):
    """Sizes of the head.

    Attributes:
        hidden: Width of the body.
        words: Function words.
        span: Units of the longest span that can be copied.
        deleted: Query units that one edit may delete.
        place: Width of the head that chooses places.
        pointer: Width of the head that chooses spans.
        steps: Edits, and segments of an edit, that have a number of their own; later ones share the last.
    """

    hidden: int = 384
    words: int = 0
    span: int = 24
    deleted: int = 12
    place: int = 256
    pointer: int = 192
    steps: int = 5


@dataclass(slots=True)
class Encoded:
    """The body's output for a batch, in the form that the heads read.

    Attributes:
        boundaries: Shape (batch, query units + 1, 2 · hidden): the tokens on both sides of each gap of the query.
        gaps: Shape (batch,): gaps of each query, its units + 1.
        summary: Shape (batch, hidden): the first token.
        starts: Shape (batch, context units, hidden): first token of each unit.
        ends: Shape (batch, context units, hidden): last token of each unit.
        left: Shape (batch, gaps, place): each gap as the left end of an edit.
        right: Shape (batch, gaps, place): likewise as its right end.
        key_start: Shape (batch, context units, pointer): each unit as the start of a span.
        key_end: Shape (batch, context units, pointer): likewise as its end.
        pair: Shape (batch, context units, span): how well start and end go together.
        spans: Shape (batch, context units, span): whether a span of that start and width lies inside one turn.
    """

    boundaries: Tensor
    gaps: Tensor
    summary: Tensor
    starts: Tensor
    ends: Tensor
    left: Tensor
    right: Tensor
    key_start: Tensor
    key_end: Tensor
    pair: Tensor
    spans: Tensor


class EditsHead(nn.Module):
    """Scores places and spans.

    Args:
        shape: Sizes of the head.
    """

    def __init__(self, shape: EditsShape) -> None:
        super().__init__()
        self.shape = shape
        hidden, place, pointer = shape.hidden, shape.place, shape.pointer
        self.dropout = nn.Dropout(0.1)
        # where: an edit is the pair of gaps around what it deletes
        self.place_left = nn.Linear(2 * hidden, place)
        self.place_right = nn.Linear(2 * hidden, place, bias=False)
        self.place_width = nn.Embedding(shape.deleted + 1, place)
        self.place_step = nn.Embedding(shape.steps, place)
        self.place_before = nn.Linear(2 * place + 2 * hidden, place, bias=False)
        self.place_score = nn.Linear(place, 1)
        self.stop_hidden = nn.Linear(hidden, place)
        self.stop_score = nn.Linear(place, 1)
        # what: one query vector a choice, compared with every span
        self.ask_place = nn.Linear(4 * hidden, hidden)
        self.ask_before = nn.Linear(2 * hidden, hidden, bias=False)
        self.ask_step = nn.Embedding(shape.steps, hidden)
        self.ask_start = nn.Linear(hidden, pointer)
        self.ask_end = nn.Linear(hidden, pointer)
        self.ask_width = nn.Linear(hidden, shape.span)
        self.key_start = nn.Linear(hidden, pointer)
        self.key_end = nn.Linear(hidden, pointer)
        self.pair_start = nn.Linear(hidden, pointer)
        self.pair_end = nn.Linear(hidden, pointer)
        self.ask_word = nn.Linear(hidden, pointer)
        self.words = nn.Parameter(torch.randn(shape.words, pointer) * 0.05)
        self.word_states = nn.Parameter(torch.zeros(shape.words, hidden))
        self.word_score = nn.Linear(hidden, shape.words) if shape.words else None
        self.end_score = nn.Linear(hidden, 1)
        for embedding in (self.place_width, self.place_step, self.ask_step):
            nn.init.normal_(embedding.weight, std=0.05)

    def encode(self, states: Tensor, batch: Mapping[str, Tensor]) -> Encoded:
        """Prepares the states of a batch for the choices.

        Args:
            states: Shape (batch, tokens, hidden), float32.
            batch: `gap_tokens` (batch, gaps, 2); `gaps` (batch,); `context_tokens` (batch, context units, 2); `spans`.
        """
        states = self.dropout(states)
        boundaries = gather_states(states, batch["gap_tokens"]).flatten(2)
        starts = gather_states(states, batch["context_tokens"][..., 0])
        ends = gather_states(states, batch["context_tokens"][..., 1])
        pair = torch.einsum("bup,bkp->buk", self.pair_start(starts), self.pair_end(ends))
        last = _last(starts.shape[1], self.shape.span, states.device)
        return Encoded(
            boundaries=boundaries,
            gaps=batch["gaps"],
            summary=states[:, 0],
            starts=starts,
            ends=ends,
            left=self.place_left(boundaries),
            right=self.place_right(boundaries),
            key_start=self.key_start(starts),
            key_end=self.key_end(ends),
            pair=pair.gather(2, last[None].expand(len(pair), -1, -1)),
            spans=batch["spans"],
        )

    def place_scores(self, encoded: Encoded, rows: Tensor, steps: Tensor, previous: Tensor) -> Tensor:
        """Log-probabilities of the place of the next edit.

        Args:
            encoded: The batch.
            rows: Shape (choices,): the row of the batch that each choice belongs to.
            steps: Shape (choices,): number of edits before this one.
            previous: Shape (choices, 4): gaps and first segment of the edit before; `NOWHERE` at the first.

        Returns:
            Shape (choices, gaps · (deleted + 1) + 1): edits by left gap and width; the last column: no further edit.
        """
        left, right = encoded.left, encoded.right
        gaps, widths = left.shape[1], self.shape.deleted + 1
        step = self.place_step(steps.clamp(max=self.shape.steps - 1))
        is_later = previous[:, 0] != NOWHERE
        known = previous.clamp(min=0)
        segment = self._segment(encoded, rows, previous[:, 2:])
        before = torch.cat([left[rows, known[:, 0]], right[rows, known[:, 1]], segment], dim=-1)
        step = step + self.place_before(before) * is_later[:, None]  # (choices, place)
        stop = self.stop_score(functional.gelu(self.stop_hidden(encoded.summary)[rows] + step))  # (choices, 1)
        ends = torch.arange(gaps, device=left.device)[:, None] + torch.arange(widths, device=left.device)
        pairs = left[:, :, None] + right[:, ends.clamp(max=gaps - 1)] + self.place_width.weight
        scores = self.place_score(functional.gelu(pairs[rows] + step[:, None, None])).squeeze(-1)
        allowed = ends < encoded.gaps[rows][:, None, None]
        # an edit that touches the previous one would be part of it
        first = torch.where(is_later, previous[:, 1] + 1, 0)
        allowed &= torch.arange(gaps, device=left.device)[None, :, None] >= first[:, None, None]
        scores = scores.masked_fill(~allowed, _MASKED).flatten(1)
        return torch.cat([scores, stop], dim=1).log_softmax(dim=1)

    def segment_scores(self, encoded: Encoded, rows: Tensor, places: Tensor, steps: Tensor, previous: Tensor) -> Tensor:
        """Log-probabilities of the next segment of an edit.

        Args:
            encoded: The batch.
            rows: Shape (choices,): the row of the batch that each choice belongs to.
            places: Shape (choices, 2): the gaps around the edit.
            steps: Shape (choices,): number of segments that the edit has.
            previous: Shape (choices, 2): the last of them, or `NOWHERE`.

        Returns:
            Shape (choices, context units · span + words + 1): spans by start and width, then words; the last
            column: the edit is complete.
        """
        units, widths = encoded.spans.shape[1:]
        around = torch.cat([encoded.boundaries[rows, places[:, 0]], encoded.boundaries[rows, places[:, 1]]], dim=-1)
        before = self.ask_before(self._segment(encoded, rows, previous))
        ask = self.ask_place(around) + before + self.ask_step(steps.clamp(max=self.shape.steps - 1))
        ask = self.dropout(functional.gelu(ask))  # (choices, hidden)
        start = torch.einsum("cp,cup->cu", self.ask_start(ask), encoded.key_start[rows])
        end = torch.einsum("cp,cup->cu", self.ask_end(ask), encoded.key_end[rows])
        last = _last(units, widths, start.device)
        scale = self.shape.pointer**-0.5
        scores = (start[:, :, None] + end[:, last] + encoded.pair[rows]) * scale + self.ask_width(ask)[:, None]
        scores = scores.masked_fill(~encoded.spans[rows], _MASKED).flatten(1)
        parts = [scores]
        if self.word_score is not None:
            parts.append(self.ask_word(ask) @ self.words.T * scale + self.word_score(ask))
        return torch.cat([*parts, self.end_score(ask)], dim=1).log_softmax(dim=1)

    def _segment(self, encoded: Encoded, rows: Tensor, segment: Tensor) -> Tensor:
        """First and last state of a segment (first unit, last unit), zeros for none; shape (choices, 2 · hidden)."""
        units = encoded.starts.shape[1]
        is_word = (segment[:, 0] >= units)[:, None]
        inside = segment.clamp(min=0, max=units - 1)
        first, last = encoded.starts[rows, inside[:, 0]], encoded.ends[rows, inside[:, 1]]
        if self.shape.words:
            word = self.word_states[(segment[:, 0] - units).clamp(min=0)]
            first, last = torch.where(is_word, word, first), torch.where(is_word, word, last)
        return torch.cat([first, last], dim=-1) * (segment[:, :1] != NOWHERE)


def _last(units: int, widths: int, device: torch.device) -> Tensor:
    """The last unit of every span by start and width, cut at the end; shape (units, widths)."""
    last = torch.arange(units, device=device)[:, None] + torch.arange(widths, device=device)
    return last.clamp(max=units - 1)
