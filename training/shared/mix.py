"""Epochs: which rows of which data sets are read, in which form, and in which batches."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from more_itertools import chunked

from models.batching.engine import padded_batches


class Example(Protocol):
    """One row, ready for training."""

    @property
    def token_count(self) -> int:
        """How many tokens the network reads."""
        ...


DrawT = TypeVar("DrawT")
ExampleT = TypeVar("ExampleT", bound=Example)


class Mix(ABC, Generic[DrawT, ExampleT]):
    """Draws epochs; the same seed and number give the same epoch.

    Args:
        seed: Of all draws.
        batch_tokens: Padded tokens of a batch; a longer example is a batch of its own.
        batch_rows: Examples of a batch; None for any number.
        sorted_together: Draws whose order is given up for batches of like length.
    """

    def __init__(
        self, *, seed: int, batch_tokens: int, batch_rows: int | None = None, sorted_together: int = 1536
    ) -> None:
        self._seed = seed
        self._batch_tokens = batch_tokens
        self._batch_rows = batch_rows
        self._sorted_together = sorted_together

    def drawn(self, epoch: int) -> list[DrawT]:
        """The draws of an epoch, in its order."""
        draw = random.Random(f"{self._seed}/{epoch}")
        draws = self.draws(draw)
        draw.shuffle(draws)
        return draws

    def batches(self, epoch: int, *, skip: int = 0) -> Iterator[list[ExampleT]]:
        """An epoch in batches of like length, in random order.

        Args:
            epoch: From 0.
            skip: Batches at the beginning that are left out.
        """
        order = random.Random(f"{self._seed}/{epoch}/order")
        for draws in chunked(self.drawn(epoch), self._sorted_together):
            examples = [example for draw in draws for example in self.examples(draw)]
            batches = list(
                padded_batches(examples, self.length, max_tokens=self._batch_tokens, max_rows=self._batch_rows)
            )
            order.shuffle(batches)
            yield from batches[skip:]
            skip = max(0, skip - len(batches))

    @abstractmethod
    def draws(self, draw: random.Random) -> list[DrawT]:
        """The rows of an epoch, each in a form, before they are shuffled."""

    @abstractmethod
    def examples(self, draw: DrawT) -> Sequence[ExampleT]:
        """The examples of a draw."""

    def length(self, example: ExampleT) -> int:
        """Tokens of an example in its batch."""
        return example.token_count


def repeats(weight: float, draw: random.Random) -> range:
    """How often an epoch reads a row that it reads `weight` times on average."""
    return range(int(weight) + (draw.random() < weight % 1))
