"""Trains small heads on the states of a frozen network (`models.body.network_parts.ScoreHead`)."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from models.body.network_parts import MASKED

from .data_sets import Part

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


def binary_loss(scores: Sequence[Tensor], labels: Sequence[Tensor]) -> Tensor:
    """The loss where every row is one or is not, whatever the others are: scores are log-odds."""
    return functional.binary_cross_entropy_with_logits(torch.cat([*scores]), torch.cat([*labels]))


def softmax_loss(scores: Sequence[Tensor], labels: Sequence[Tensor]) -> Tensor:
    """The loss where the rows of a group share one probability with none of them, whose score is 0."""
    padded = pad_sequence([*scores], batch_first=True, padding_value=MASKED)
    return share_losses(padded, pad_sequence([*labels], batch_first=True)).mean()


def share_losses(scores: Tensor, marks: Tensor) -> Tensor:
    """The loss of each group, shape (groups,), of scores and marks of shape (groups, rows); see `softmax_loss`.

    Rows that a group does not have are `MASKED` in the scores and 0 in the marks.
    """
    shares = torch.cat([(1.0 - marks.sum(1, keepdim=True)).clamp(min=0.0), marks], dim=1)
    shares = shares / shares.sum(1, keepdim=True)
    return -(shares * functional.pad(scores, (1, 0)).log_softmax(1)).sum(1)


def head_parser(description: str) -> argparse.ArgumentParser:
    """A parser of the arguments that every training of a head takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--corpus", type=Path, nargs="+", required=True, help="folders of chat corpora")
    parser.add_argument("--weights", type=Path, required=True, help="the file that ships; the head is written to it")
    parser.add_argument("--cache", type=Path, required=True, help="folder of prepared models")
    parser.add_argument("--part", choices=[part.value for part in Part], help="measure this part, and train nothing")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def train_or_measure(
    arguments: argparse.Namespace,
    *,
    train: Callable[[], None],
    measure: Callable[[Part], Mapping[str, Mapping[str, float]]],
    title: str,
    **named: str,
) -> None:
    """Trains unless a part is given, then measures that part or the tuning one: a table and, last, one JSON line.

    Args:
        arguments: Of `head_parser`.
        train: Trains the head and writes it into the weight file.
        measure: The figures of the head of the file on a part.
        title: What is measured.
        named: Further values of the JSON line.
    """
    torch.set_num_threads(arguments.threads)
    if arguments.part is None:
        train()
    part = Part(arguments.part or Part.TUNE)
    figures = measure(part)
    print_figures(figures, title=f"{title}, {part.value}, %")
    sys.stdout.write(json.dumps({**named, "part": part.value, **figures}) + "\n")


def percent(part: int, whole: int) -> float:
    """A share in percent; 0 of nothing."""
    return round(100 * part / max(1, whole), 1)


def print_figures(figures: Mapping[str, Mapping[str, float]], *, title: str) -> None:
    """Prints a table: a line for each group of messages, a column for each of its figures."""
    table = Table("messages", *next(iter(figures.values())), title=title)
    for group, values in figures.items():
        table.add_row(group, *(f"{value:g}" for value in values.values()))
    Console().print(table)
