"""Trains small heads on the states of a frozen network."""

from collections.abc import Callable, Sequence

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn
from torch.nn import functional

_RATE = 1e-3

Loss = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]
"""The loss of a step, from the scores and the labels of its groups of rows, each of shape (rows,)."""


def train_head(
    head: nn.Module,
    inputs: Sequence[Tensor],
    labels: Sequence[Tensor],
    *,
    loss: Loss,
    epochs: int,
    batch: int,
    decay: float,
    seed: int = 0,
) -> None:
    """Trains a head in place.

    Args:
        head: Untrained; takes (rows, width), gives a score for each row.
        inputs: Groups of rows that belong together, each of shape (rows, width).
        labels: How surely each row is one, 0 to 1, each of shape (rows,).
        loss: Of the groups of a step.
        epochs: Passes over all.
        batch: Groups in a step.
        decay: Weight decay.
        seed: Of their order and of dropout.
    """
    torch.manual_seed(seed)
    optimiser = torch.optim.AdamW(head.parameters(), lr=_RATE, weight_decay=decay)
    head.train()
    for _ in track(range(epochs), "epochs", console=Console(stderr=True)):
        for numbers in torch.randperm(len(inputs)).split(batch):
            optimiser.zero_grad()
            rows = [inputs[number] for number in numbers]
            scores = head(torch.cat(rows)).split([len(row) for row in rows])
            loss(scores, [labels[number] for number in numbers]).backward()
            optimiser.step()
    head.eval()


def each_alone(scores: Sequence[Tensor], labels: Sequence[Tensor]) -> Tensor:
    """The loss where every row is one or is not, whatever the others are: scores are log-odds."""
    return functional.binary_cross_entropy_with_logits(torch.cat([*scores]), torch.cat([*labels]))


def one_of_each(scores: Sequence[Tensor], labels: Sequence[Tensor]) -> Tensor:
    """The loss where the rows of a group share one probability with none of them, whose score is 0."""
    losses = []
    for of_group, marked in zip(scores, labels, strict=True):
        shares = torch.cat([(1.0 - marked.sum()).clamp(min=0.0)[None], marked])
        shares = shares / shares.sum()
        losses.append(-(shares * functional.pad(of_group, (1, 0)).log_softmax(0)).sum())
    return torch.stack(losses).mean()
