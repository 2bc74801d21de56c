"""Batches of features, and the network run over many queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from more_itertools import chunked
from torch import Tensor

from ..body.network_parts import evaluating
from ..body.token_rows import padded
from .decisions import KeepRule
from .decoding import DecodingLimits, Rewrite, decode
from .edits import apply_edits
from .features import Features
from .network import RewriterNetwork


def collate(features: Sequence[Features], *, pad_id: int, span: int, device: str = "cpu") -> dict[str, Tensor]:
    """A batch for `RewriterNetwork.encode`.

    Args:
        features: At least one.
        pad_id: Token id of padding.
        span: Units of the longest span.
        device: Of the tensors.
    """
    count = len(features)
    units = max(1, *(len(row.context_tokens) for row in features))
    gaps = max(len(row.query_tokens) for row in features) + 1
    tokens = max(row.token_count for row in features)
    types = np.zeros((count, tokens), np.int64)
    context = np.zeros((count, units, 2), np.int64)
    gap_tokens = np.zeros((count, gaps, 2), np.int64)
    spans = np.zeros((count, units, span), np.bool_)
    for number, row in enumerate(features):
        types[number, row.query_start : row.token_count] = 1
        row_units = len(row.context_tokens)
        context[number, :row_units] = row.context_tokens
        spans[number, :row_units] = span_mask(row, span)
        query = row.query_tokens
        gap_tokens[number, : len(query) + 1, 0] = [row.query_start - 1, *query[:, 1]]
        gap_tokens[number, : len(query) + 1, 1] = [*query[:, 0], row.token_count - 1]
    arrays = {
        **padded(features, pad_id=pad_id),
        "token_type_ids": types,
        "context_tokens": context,
        "gap_tokens": gap_tokens,
        "gaps": np.array([len(row.query_tokens) + 1 for row in features], np.int64),
        "spans": spans,
    }
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def span_mask(features: Features, span: int) -> npt.NDArray[np.bool_]:
    """Whether a span of that start and width lies inside one turn; shape (context units, span)."""
    turn_of = np.array(features.source.turn_of, np.int64)
    units_left = np.searchsorted(turn_of, turn_of, side="right") - np.arange(len(turn_of))
    mask: npt.NDArray[np.bool_] = np.arange(span) < units_left[:, None]
    return mask


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A query with its best edits.

    Attributes:
        features: The network's input.
        rewrite: The edits and their probabilities.
    """

    features: Features
    rewrite: Rewrite

    def text(self, rule: KeepRule) -> str:
        """The rewritten query, or the query itself where the rule keeps it."""
        return self.features.query if rule.keeps(self.rewrite) else self.edited()

    def edited(self) -> str:
        """The query with the edits made, whatever a rule says."""
        query, units = self.features.query, self.features.units
        unread = query[units[-1].end :] if units else query
        return apply_edits(query, units, self.features.source, self.rewrite.edits) + unread


def rewrite_all(
    network: RewriterNetwork,
    features: Sequence[Features],
    *,
    pad_id: int,
    limits: DecodingLimits | None = None,
    batch_rows: int = 48,
) -> list[Rewritten]:
    """Rewrites queries in order, in batches of like length.

    Args:
        network: In any mode; it runs in evaluation mode.
        features: Of the queries.
        pad_id: Token id of padding.
        limits: Of the search.
        batch_rows: Queries of a batch.
    """
    rewritten: dict[int, Rewritten] = {}
    by_length = sorted(range(len(features)), key=lambda number: features[number].token_count)
    with evaluating(network) as device:
        for numbers in chunked(by_length, batch_rows):
            batch = [features[number] for number in numbers]
            encoded = network.encode(collate(batch, pad_id=pad_id, span=network.shape.span, device=str(device)))
            rewrites = decode(network, encoded, batch, limits or DecodingLimits())
            for number, row, rewrite in zip(numbers, batch, rewrites, strict=True):
                rewritten[number] = Rewritten(row, rewrite)
    return [rewritten[number] for number in range(len(features))]
