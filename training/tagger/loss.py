"""The loss of a batch of tagging examples."""

from collections.abc import Mapping

import torch
from torch import Tensor

from models.tagger.network import TaggerNetwork

_MOST = 60.0  # the exponential of more does not fit


def span_loss(network: TaggerNetwork, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """For each row and label: how far names are below 0 and other spans above it.

    After "Global Pointer" (Su 2021): log(1 + Σ exp(score of an unmarked span) · what its silence weighs) +
    log(1 + Σ exp(−score of a name)).

    Returns:
        Sums over the batch: `unmarked` and `marked`.
    """
    scores = network(batch)  # (batch, units, span, labels)
    rows, labels = scores.shape[0], scores.shape[3]
    unmarked = torch.nn.functional.softplus((scores + batch["silence"]).flatten(1, 2).logsumexp(1)).sum()
    row, first, width, label = batch["right"].unbind(1)
    missing = (-scores[row, first, width, label]).clamp(max=_MOST).exp()
    sums = scores.new_zeros(rows * labels).index_add(0, row * labels + label, missing)
    return {"unmarked": unmarked, "marked": sums.log1p().sum()}
