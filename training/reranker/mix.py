"""What one epoch of the reranker's training reads: questions, each with one answer and hard negatives."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from models.reranker.network import RerankerNetwork, asked_tokens, pad
from models.reranker.pairs import PairReader, PairTokens

from .pools import Pool

_SORTED_TOGETHER = 384  # questions whose order is given up for batches of like length
_BINARY_SHARE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class MixOptions:
    """How questions are read.

    Attributes:
        negatives: Hard negatives of a question.
        hardest: They are drawn among so many of the best fused hits that are not gold.
        batch_tokens: Padded tokens of the passages of a batch, at most, unless one question has more.
    """

    negatives: int = 5
    hardest: int = 16
    batch_tokens: int = 1600


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with its passages; the first is gold, the others are not."""

    pairs: tuple[PairTokens, ...]

    @property
    def token_count(self) -> int:
        """Tokens of the question and all passages."""
        return len(self.pairs[0].query) + sum(len(pair.passage) for pair in self.pairs)

    @property
    def longest(self) -> int:
        """Tokens of its longest passage."""
        return max(len(pair.passage) for pair in self.pairs)


@dataclass(frozen=True)
class Share:
    """The questions of one data set and how often an epoch reads them, on average."""

    pools: Sequence[Pool]
    weight: float


class Mix:
    """Draws epochs; the same seed and number give the same epoch.

    Questions whose answer retrieval did not find, or with too few negatives, are left out.

    Args:
        shares: What is mixed.
        reader: Tokenises.
        options: How questions are read.
        seed: Of all draws.
    """

    def __init__(self, shares: Sequence[Share], reader: PairReader, options: MixOptions, *, seed: int) -> None:
        self._reader = reader
        self._options = options
        self._seed = seed
        self._shares = [Share([pool for pool in one.pools if self._is_usable(pool)], one.weight) for one in shares]

    def drawn(self, epoch: int) -> list[tuple[Pool, float]]:
        """An epoch in its order, each question with the seed of its negatives."""
        draw = random.Random(f"{self._seed}/{epoch}")
        picked = [
            (pool, draw.random())
            for share in self._shares
            for pool in share.pools
            for _ in range(int(share.weight) + (draw.random() < share.weight % 1))
        ]
        draw.shuffle(picked)
        return picked

    def batches(self, epoch: int, *, skip: int = 0) -> Iterator[list[Choice]]:
        """Batches of like length in random order, without the first `skip`."""
        draw = random.Random(f"{self._seed}/{epoch}/order")
        picked = self.drawn(epoch)
        for start in range(0, len(picked), _SORTED_TOGETHER):
            choices = [
                self._choice(pool, random.Random(seed)) for pool, seed in picked[start : start + _SORTED_TOGETHER]
            ]
            batches = self._cut(sorted(choices, key=lambda choice: choice.longest))
            draw.shuffle(batches)
            yield from batches[skip:]
            skip = max(0, skip - len(batches))

    def _is_usable(self, pool: Pool) -> bool:
        found = sum(candidate.gold for candidate in pool.candidates)
        return found > 0 and len(pool.candidates) - found >= self._options.negatives

    def _choice(self, pool: Pool, draw: random.Random) -> Choice:
        gold = [candidate.text for candidate in pool.candidates if candidate.gold]
        others = [candidate.text for candidate in pool.candidates if not candidate.gold][: self._options.hardest]
        texts = [draw.choice(gold), *draw.sample(others, self._options.negatives)]
        return Choice(tuple(self._reader.read(pool.question, texts)))

    def _cut(self, choices: Sequence[Choice]) -> list[list[Choice]]:
        batches: list[list[Choice]] = []
        width = self._options.negatives + 1
        for choice in choices:
            if not batches or (len(batches[-1]) + 1) * width * choice.longest > self._options.batch_tokens:
                batches.append([])
            batches[-1].append(choice)
        return batches


def collate_choices(choices: Sequence[Choice], *, pad_id: int) -> dict[str, Tensor]:
    """A batch for `choice_loss`; every choice has as many pairs."""
    first = [choice.pairs[0] for choice in choices]
    queries = pad([pair.query for pair in first], pad_id=pad_id)
    passages = pad([pair.passage for choice in choices for pair in choice.pairs], pad_id=pad_id)
    asked = torch.zeros_like(queries["attention_mask"])
    for row, pair in enumerate(first):
        asked[row, : len(pair.query)] = torch.from_numpy(asked_tokens(pair.query, pair.asked_from))
    return {
        "query_ids": queries["input_ids"],
        "query_mask": queries["attention_mask"],
        "asked": asked,
        "passage_ids": passages["input_ids"],
        "passage_mask": passages["attention_mask"],
    }


def choice_loss(network: RerankerNetwork, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Losses of a batch, summed over its questions.

    Returns:
        `choice`: the negative log-probability of the gold passage among its negatives; `binary`: a share of the mean
        cross-entropy of each pair on its own, which makes scores of different questions comparable.
    """
    query = network.encode({"input_ids": batch["query_ids"], "attention_mask": batch["query_mask"]})
    mask = batch["passage_mask"]
    passages = network.encode({"input_ids": batch["passage_ids"], "attention_mask": mask})
    count = len(query)
    passages = passages.view(count, -1, *passages.shape[1:])  # (questions, passages, tokens, hidden)
    logits = network.match(query, batch["asked"], passages, mask.view(count, -1, mask.shape[1]))
    choice = -logits.log_softmax(dim=1)[:, 0].sum()
    truth = torch.zeros_like(logits)
    truth[:, 0] = 1.0
    binary = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none").mean(dim=1).sum()
    return {"choice": choice, "binary": _BINARY_SHARE * binary}
