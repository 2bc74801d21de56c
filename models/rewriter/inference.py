"""Runs a network over many queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from more_itertools import chunked

from .batches import collate
from .decisions import KeepRule
from .decoding import DecodingLimits, Rewrite, decode
from .edits import apply_edits
from .features import Features
from .network import RewriterNetwork


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A query with its best edits.

    Attributes:
        features: What was read.
        rewrite: The edits and what speaks for them.
    """

    features: Features
    rewrite: Rewrite

    def text(self, rule: KeepRule) -> str:
        """The rewritten query, or the query where the rule keeps it."""
        one = self.features
        return one.query if rule.keeps(self.rewrite) else self.edited()

    def edited(self) -> str:
        """The query with the edits made, whatever speaks for keeping it."""
        one = self.features
        units = one.units
        tail = one.query[units[-1].end :] if units else one.query
        return apply_edits(one.query, units, one.source, self.rewrite.edits) + tail


def rewrite_all(
    network: RewriterNetwork,
    features: Sequence[Features],
    *,
    pad_id: int,
    limits: DecodingLimits | None = None,
    batch_rows: int = 48,
) -> list[Rewritten]:
    """Rewrites queries in order, batched by length; the network is put into `eval` for it.

    Args:
        network: Trained.
        features: Of the queries.
        pad_id: Token id of padding.
        limits: Of the search.
        batch_rows: Queries of a batch.
    """
    found: dict[int, Rewritten] = {}
    was_training = network.training
    network.eval()
    device = str(next(network.parameters()).device)
    with torch.inference_mode():
        for chosen in chunked(sorted(range(len(features)), key=lambda one: features[one].token_count), batch_rows):
            batch = [features[number] for number in chosen]
            encoded = network.encode(collate(batch, pad_id=pad_id, span=network.shape.span, device=device))
            rewrites = decode(network, encoded, batch, limits or DecodingLimits())
            for number, one, rewrite in zip(chosen, batch, rewrites, strict=True):
                found[number] = Rewritten(one, rewrite)
    network.train(was_training)
    return [found[number] for number in range(len(features))]
