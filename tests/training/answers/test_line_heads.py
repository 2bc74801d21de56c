"""A head that says what a message does to earlier lines, trained on the states of a finished network."""

import torch

from models.body.network_parts import ScoreHead
from training.shared.heads import softmax_loss, train_head


def test_a_head_shares_out_what_is_meant_between_lines_and_none() -> None:
    torch.manual_seed(0)
    groups = [torch.randn(4, 240) for _ in range(200)]
    labels = [(group[:, 0] > 1.0).float() for group in groups]
    head = ScoreHead(48, states=5)
    train_head(head, groups, labels, loss=softmax_loss, epochs=20, batch=16, decay=0.02)
    with torch.no_grad():
        best = [torch.cat([torch.zeros(1), head(group)]).argmax() for group in groups]
    right = [bool(marked[place - 1]) if place else not marked.any() for place, marked in zip(best, labels, strict=True)]
    assert sum(right) > 180
