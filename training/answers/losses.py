"""Batches with labels, and the losses of the answer reader's heads."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from models.answers.inference import collate
from models.answers.network import AnswerNetwork
from models.body.network_parts import MASKED

from ..shared.heads import share_losses
from .examples import AnswerExample
from .marked_requests import Kind

_THRESHOLD_SHARE = 0.5
_WORDS_SHARE = 0.5
_OUTDATED_SHARE = 0.5
_OTHERS = 0.1  # weight of lines that do not answer in the loss of what is out of date


def collate_examples(examples: Sequence[AnswerExample], *, pad_id: int) -> dict[str, Tensor]:
    """A batch with its labels.

    Returns:
        Besides the batch of `inference.collate`: `gold` (batch, lines), 1 for lines that answer; `outdated` and
        `outdated_weights`, likewise; `words` (known words, 4): row, line, first and last unit counted from 1; `is_kind`
        (kinds, batch), 1 for the rows of each `Kind`, and `marks` (batch, lines) of these.
    """
    batch = collate([example.features for example in examples], pad_id=pad_id)
    gold = torch.zeros(batch["ranks"].shape)
    outdated, weights = torch.zeros_like(gold), torch.zeros_like(gold)
    marks = torch.zeros_like(gold)
    words = []
    for row, example in enumerate(examples):
        marks[row, : len(example.marks)] = torch.tensor(example.marks)
        for line in example.gold:
            gold[row, line] = 1.0
        for line, value in example.outdated.items():
            outdated[row, line] = float(value)
            weights[row, line] = 1.0 if value or line in example.gold else _OTHERS
        words += [(row, line, *units) for line, units in example.words.items()]
    is_kind = torch.tensor([[float(example.kind is kind) for example in examples] for kind in Kind])
    labels = {"gold": gold, "outdated": outdated, "outdated_weights": weights, "marks": marks, "is_kind": is_kind}
    return {**batch, **labels, "words": torch.tensor(words, dtype=torch.int64).reshape(-1, 4)}


def answer_loss(network: AnswerNetwork, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The losses of all heads, each summed over its rows.

    `line` is that of a softmax over the lines and none, several lines right together; `threshold` puts every line that
    answers above none and every other below (Su 2021, the loss of several labels). Of a message that is no question the
    losses of its kind count alone.
    """
    states = network.states(batch)
    scores, outdated, none, *of_kinds = network.line_scores(states, batch)
    gold = batch["gold"]
    is_none = gold.sum(1, keepdim=True) == 0  # (batch, 1)
    shares = torch.cat([none[:, None], scores], dim=1).log_softmax(1)  # (batch, 1 + lines)
    right = torch.cat([is_none.float(), gold], dim=1)
    asks = 1.0 - batch["is_kind"].sum(0)
    line = (-(shares + (1 - right) * MASKED).logsumexp(1) * asks).sum()
    margins = scores - none[:, None]
    others = (margins + gold * MASKED).logsumexp(1)
    missed = (-margins + (1 - gold) * 3 * MASKED).logsumexp(1)
    threshold = ((functional.softplus(others) + functional.softplus(missed)) * asks).sum()
    replaced = functional.binary_cross_entropy_with_logits(
        outdated, batch["outdated"], weight=batch["outdated_weights"], reduction="sum"
    )
    return {
        "line": line,
        "threshold": _THRESHOLD_SHARE * threshold,
        "outdated": _OUTDATED_SHARE * replaced,
        "words": _WORDS_SHARE * _words_loss(network.word_scores(states, batch), batch["words"]),
        **{
            kind.value: (_kind_losses(kind, of_kind, batch["marks"]) * is_kind).sum()
            for kind, of_kind, is_kind in zip(Kind, of_kinds, batch["is_kind"], strict=True)
        },
    }


def _kind_losses(kind: Kind, scores: Tensor, marks: Tensor) -> Tensor:
    """The loss of each row, shape (batch,): clauses are meant each by itself, lines share one probability with none."""
    if kind is not Kind.CLAUSE:
        return share_losses(scores, marks)
    return functional.binary_cross_entropy_with_logits(scores, marks, reduction="none").sum(1)


def _words_loss(scores: Tensor, words: Tensor) -> Tensor:
    """Of the first and the last unit in the lines whose words are known; `scores` from `AnswerNetwork.word_scores`."""
    rows, lines, first, last = words.unbind(1)
    chosen = scores[rows, lines]  # (known words, 1 + units, 2)
    starts = functional.cross_entropy(chosen[..., 0], first, reduction="sum")
    return starts + functional.cross_entropy(chosen[..., 1], last, reduction="sum")
