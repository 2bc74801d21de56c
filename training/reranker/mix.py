"""What one epoch of the reranker's training reads: questions, each with one answer and hard negatives; and its loss."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.reranker.network import RerankerNetwork, asked_tokens, pad
from models.reranker.pairs import PairReader, PairTokens

from ..shared.mix import Mix, repeats
from .pools import Pool

_SORTED_TOGETHER = 384
_BINARY_SHARE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankingOptions:
    """How negatives are drawn and batches are cut.

    Attributes:
        negatives: Hard negatives of a question.
        hardest: They are drawn from so many of the best fused hits that are not gold.
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
class RerankingShare:
    """The questions of one data set and how often an epoch reads them, on average."""

    pools: Sequence[Pool]
    weight: float


class RerankingMix(Mix[tuple[Pool, float], Choice]):
    """Draws epochs of questions, each with the seed of its negatives.

    Questions whose answer retrieval did not find, or with too few negatives, are left out.

    Args:
        shares: The data sets.
        reader: Tokenises pairs.
        options: How negatives are drawn and batches are cut.
        seed: Seed of all draws.
    """

    def __init__(
        self, shares: Sequence[RerankingShare], reader: PairReader, options: RerankingOptions, *, seed: int
    ) -> None:
        super().__init__(seed=seed, batch_tokens=options.batch_tokens, sorted_together=_SORTED_TOGETHER)
        self._reader = reader
        self._options = options
        self._shares = [
            RerankingShare([pool for pool in share.pools if self._is_usable(pool)], share.weight) for share in shares
        ]

    @override
    def draws(self, rng: random.Random) -> list[tuple[Pool, float]]:
        return [
            (pool, rng.random()) for share in self._shares for pool in share.pools for _ in repeats(share.weight, rng)
        ]

    @override
    def examples(self, draw: tuple[Pool, float]) -> list[Choice]:
        pool, seed = draw
        negatives = random.Random(seed)
        gold = [candidate.text for candidate in pool.candidates if candidate.gold]
        hardest = [candidate.text for candidate in pool.candidates if not candidate.gold][: self._options.hardest]
        texts = [negatives.choice(gold), *negatives.sample(hardest, self._options.negatives)]
        return [Choice(tuple(self._reader.read(pool.question, texts)))]

    @override
    def length(self, example: Choice) -> int:
        return len(example.pairs) * example.longest

    def _is_usable(self, pool: Pool) -> bool:
        gold_count = sum(candidate.gold for candidate in pool.candidates)
        return gold_count > 0 and len(pool.candidates) - gold_count >= self._options.negatives


def collate_choices(choices: Sequence[Choice], *, pad_id: int) -> dict[str, Tensor]:
    """Collates choices, all with the same number of pairs, into a batch for `choice_loss`."""
    first = [choice.pairs[0] for choice in choices]
    queries = pad([pair.query for pair in first], pad_id=pad_id)
    passages = pad([pair.passage for choice in choices for pair in choice.pairs], pad_id=pad_id)
    question_tokens = torch.zeros_like(queries["attention_mask"])
    for row, pair in enumerate(first):
        question_tokens[row, : len(pair.query)] = torch.from_numpy(asked_tokens(pair.query, pair.asked_from))
    return {
        "query_ids": queries["input_ids"],
        "query_mask": queries["attention_mask"],
        "asked": question_tokens,
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
