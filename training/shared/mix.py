"""Draws the rows of an epoch from data sets, and puts them into batches."""

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
        seed: Of the random generators.
        batch_tokens: Padded tokens of a batch; a longer example is a batch of its own.
        batch_rows: Examples of a batch; None for any number.
        sorted_together: Number of consecutive draws that are sorted by length into batches.
    """

    def __init__(
        self, *, seed: int, batch_tokens: int, batch_rows: int | None = None, sorted_together: int = 1536
    ) -> None:
        self._seed = seed
        self._batch_tokens = batch_tokens
        self._batch_rows = batch_rows
        self._sorted_together = sorted_together

    def drawn(self, epoch: int) -> list[DrawT]:
        """The draws of an epoch, shuffled."""
        rng = random.Random(f"{self._seed}/{epoch}")
        draws = self.draws(rng)
        rng.shuffle(draws)
        return draws

    def batches(self, epoch: int, *, skip: int = 0) -> Iterator[list[ExampleT]]:
        """An epoch in batches of like length, in random order.

        Args:
            epoch: Number of the epoch, from 0.
            skip: Number of batches to leave out at the beginning.
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
    def draws(self, rng: random.Random) -> list[DrawT]:
        """The rows of an epoch with the variations to apply, before they are shuffled."""

    @abstractmethod
    def examples(self, draw: DrawT) -> Sequence[ExampleT]:
        """The examples of a draw."""

    def length(self, example: ExampleT) -> int:
        """Tokens of an example in its batch."""
        return example.token_count


def repeats(weight: float, rng: random.Random) -> range:
    """A range as long as an epoch reads a row that it reads `weight` times on average."""
    return range(int(weight) + (rng.random() < weight % 1))
