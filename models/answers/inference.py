"""Batches of features, and the network run over them.

This module imports torch: it is imported where a network is built, never with its package.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..batching.engine import padded_batches
from ..body.network_parts import evaluating
from ..body.token_rows import padded
from .features import AnswerFeatures
from .network import AnswerNetwork

_BATCH_TOKENS = 4096
MAX_SPAN = 24
"""Units of the longest words that answer."""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """What the network finds in one line; `start` and `end` in code points of its text."""

    answers: float
    outdated: float
    start: int
    end: int
    words: float
    """Probability of these words among all of the line."""
    meant: float = 0.0
    """Probability that a request to forget means this line, of a sum of 1 over all lines and none."""
    replaced: float = 0.0
    """The same, that this line holds no longer after a message."""
    clause: float = 1.0
    """Probability that a request to forget means this clause of a message."""


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """What the network finds in a row.

    Attributes:
        lines: In the order of the request.
        unanswered: Uncalibrated probability that no line answers.
    """

    lines: tuple[FoundLine, ...]
    unanswered: float


def collate(features: Sequence[AnswerFeatures], *, pad_id: int) -> dict[str, Tensor]:
    """A batch for the network.

    Args:
        features: At least one.
        pad_id: Token id of padding.
    """
    tokens = padded(features, pad_id=pad_id)
    rows, length = tokens["input_ids"].shape
    lines = max(len(row.order) for row in features)
    units = max((len(places) for row in features for places in row.unit_tokens), default=0) or 1
    types, line_of = np.zeros((rows, length), np.int64), np.zeros((rows, length), np.int64)
    line_tokens, unit_tokens = np.zeros((rows, lines, 2), np.int64), np.zeros((rows, lines, units, 2), np.int64)
    unit_counts = np.zeros((rows, lines), np.int64)
    marks = {name: np.zeros((rows, lines), np.int64) for name in ("ranks", "ages", "roles")}
    for number, row in enumerate(features):
        types[number, row.question_start : row.token_count] = 1
        count = len(row.order)
        line_tokens[number, :count] = row.line_tokens
        for name, values in marks.items():
            values[number, :count] = getattr(row, name)
        for line, (places, (first, last)) in enumerate(zip(row.unit_tokens, row.line_tokens, strict=True)):
            line_of[number, first : last + 1] = line + 1
            unit_tokens[number, line, : len(places)] = places
            unit_counts[number, line] = len(places)
    arrays = {
        **tokens,
        **marks,
        "token_type_ids": types,
        "line_of": line_of,
        "line_tokens": line_tokens,
        "line_counts": np.array([len(row.order) for row in features], np.int64),
        "unit_tokens": unit_tokens,
        "unit_counts": unit_counts,
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def find_answers(network: AnswerNetwork, features: Sequence[AnswerFeatures], *, pad_id: int) -> list[FoundAnswer]:
    """Runs the network over rows in order, in batches of like length.

    Args:
        network: In any mode; it runs in evaluation mode.
        features: The rows.
        pad_id: Token id of padding.
    """
    found: dict[int, FoundAnswer] = {}
    with evaluating(network) as device:
        numbered = list(enumerate(features))
        for batch in padded_batches(numbered, lambda item: item[1].token_count, max_tokens=_BATCH_TOKENS):
            rows = [row for _, row in batch]
            tensors = {name: tensor.to(device) for name, tensor in collate(rows, pad_id=pad_id).items()}
            for (number, _), answer in zip(batch, _find(network, rows, tensors), strict=True):
                found[number] = answer
    return [found[number] for number in range(len(features))]


def _find(network: AnswerNetwork, rows: Sequence[AnswerFeatures], batch: dict[str, Tensor]) -> list[FoundAnswer]:
    states = network.states(batch)
    scores, outdated, none, *shared, of_clauses = network.line_scores(states, batch)
    meant, replaced = (functional.pad(of_head, (1, 0)).softmax(1)[:, 1:].tolist() for of_head in shared)
    clauses = (torch.ones_like(of_clauses) if network.clause is None else of_clauses.sigmoid()).tolist()
    answers = (scores - none[:, None]).sigmoid().tolist()
    unanswered = torch.cat([none[:, None], scores], dim=1).softmax(1)[:, 0].tolist()
    held_once = outdated.sigmoid().tolist()
    best, sure = best_spans(network.word_scores(states, batch))
    spans, words = best.tolist(), sure.tolist()
    results = []
    for number, row in enumerate(rows):
        lines: dict[int, FoundLine] = {}
        for read, line in enumerate(row.order):
            first, last = spans[number][read]
            units = row.units[read]
            start, end = (units[first - 1].start, units[last - 1].end) if first else (0, 0)
            lines[line] = FoundLine(
                answers=answers[number][read],
                outdated=held_once[number][read],
                start=start,
                end=end,
                words=words[number][read],
                meant=meant[number][read],
                replaced=replaced[number][read],
                clause=clauses[number][read],
            )
        results.append(FoundAnswer(tuple(lines[line] for line in range(len(lines))), unanswered[number]))
    return results


def best_spans(scores: Tensor) -> tuple[Tensor, Tensor]:
    """The best words of each line, counted from 1, 0 for none, and their probability among all of the line.

    The end does not lie before the start, and at most `MAX_SPAN` units are taken.

    Args:
        scores: Shape (batch, lines, 1 + units, 2).

    Returns:
        Shapes (batch, lines, 2) and (batch, lines).
    """
    places = scores.shape[2]
    sums = scores[..., :, None, 0] + scores[..., None, :, 1]  # (batch, lines, 1 + units, 1 + units)
    at = torch.arange(places, device=scores.device)
    width = at[None, :] - at[:, None]
    allowed = (width >= 0) & (width < MAX_SPAN)
    allowed[0, 1:] = False
    shares = sums.masked_fill(~allowed, -torch.inf).flatten(2).softmax(-1)
    probability, best = shares.max(-1)  # (batch, lines)
    return torch.stack([best // places, best % places], dim=-1), probability
