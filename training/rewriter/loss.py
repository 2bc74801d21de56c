"""The loss of a batch of rewriting examples."""

from collections.abc import Mapping

import torch
from torch import Tensor

from models.rewriter.network import RewriterNetwork


def chain_loss(network: RewriterNetwork, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Negative log-probabilities of the right choices.

    Where a segment can be copied from several places, the probability of all of them counts.

    Returns:
        Sums over the batch: `place` and `segment`.
    """
    encoded = network.encode(batch)
    places, segments, right = batch["places"], batch["segments"], batch["right"]
    scores = network.place_scores(encoded, places[:, 0], places[:, 1], places[:, 2:6])
    place_loss = -scores.gather(1, places[:, 6:]).sum()
    if not len(segments):
        return {"place": place_loss, "segment": place_loss.new_zeros(())}
    scores = network.segment_scores(encoded, segments[:, 0], segments[:, 1:3], segments[:, 3], segments[:, 4:6])
    answers = torch.full_like(scores, -torch.inf)
    answers[right[:, 0], right[:, 1]] = scores[right[:, 0], right[:, 1]]
    return {"place": place_loss, "segment": -answers.logsumexp(dim=1).sum()}
