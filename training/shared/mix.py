"""Draws the rows of an epoch from data sets, and puts them into batches."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from more_itertools import chunked

from models.batching.engine import padded_batches


class Example(Protocol):
    """A row as the network reads it, with its labels."""

    @property
    def token_count(self) -> int:
        """The number of tokens that the network reads."""
        ...


DrawT = TypeVar("DrawT")
ExampleT = TypeVar("ExampleT", bound=Example)


class Mix(ABC, Generic[DrawT, ExampleT]):
    """Draws epochs; the same seed and number give the same epoch.

    Args:
        seed: Seed of the random generators.
        batch_tokens: Padded tokens of a batch; a longer example is a batch of its own.
        batch_rows: Examples of a batch; None for any number.
        sorted_together: Number of consecutive draws that are sorted by length into batches.
    """

    def __init__(
        self, *, seed: int, batch_tokens: int = 1400, batch_rows: int | None = 32, sorted_together: int = 1536
    ) -> None:
        self._seed = seed
        self._batch_tokens = batch_tokens
        self._batch_rows = batch_rows
        self._sorted_together = sorted_together

    def drawn(self, epoch: int) -> list[DrawT]:
        """Draws the rows of an epoch in random order."""
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
        """Draws the rows of an epoch and the variation of each, in order."""

    @abstractmethod
    def examples(self, draw: DrawT) -> Sequence[ExampleT]:
        """Builds the examples of a drawn row."""

    def length(self, example: ExampleT) -> int:
        """Tokens of an example in its batch."""
        return example.token_count


def repeats(weight: float, rng: random.Random) -> range:
    """Draws how often an epoch repeats a row that it reads `weight` times on average."""
    return range(int(weight) + (rng.random() < weight % 1))
