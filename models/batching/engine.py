"""The interface of a model whose concurrent requests a batcher merges into batches."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

_CPU_OUT_OF_MEMORY = re.compile(r"can't allocate memory|not enough memory")


class Prepared(Protocol):
    """A tokenised input."""

    @property
    def token_count(self) -> int:
        """The number of tokens that the model reads."""
        ...


ItemT = TypeVar("ItemT")
PreparedT = TypeVar("PreparedT", bound=Prepared)
OutputT = TypeVar("OutputT")
OutputT_co = TypeVar("OutputT_co", covariant=True)


class Outputs(Protocol[OutputT_co]):
    """The results of a batch, one output per row: a list, or the rows of an array."""

    def __getitem__(self, row: int, /) -> OutputT_co:
        """The output of one input."""
        ...


class BatchEngine(ABC, Generic[PreparedT, OutputT]):
    """Computes batches; safe to call from several threads at once."""

    @property
    @abstractmethod
    def component(self) -> str:
        """The name of the model in errors, logs and metrics."""

    @abstractmethod
    def forward(self, batch: Sequence[PreparedT]) -> Outputs[OutputT]:
        """Computes a non-empty batch in order.

        Raises:
            MemoryError: The batch does not fit into memory; a smaller one may.
        """

    def padded_tokens(self, batch: Sequence[PreparedT]) -> int:
        """Tokens of a batch with padding."""
        return max(prepared.token_count for prepared in batch) * len(batch)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises torch's out-of-memory errors as `MemoryError`, on which a batcher tries smaller batches."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError(str(error)) from error
    except RuntimeError as error:
        if _CPU_OUT_OF_MEMORY.search(str(error)):
            raise MemoryError(str(error)) from error
        raise


def length_buckets(costs: Sequence[int], overhead: int) -> list[list[int]]:
    """Splits a batch by length: a bucket closes once its padding costs more than another pass.

    Args:
        costs: Cost of each text without padding: its tokens, or their square for attention.
        overhead: Fixed cost of a pass, in the same unit.

    Returns:
        Indices into `costs`; buckets and indices in descending order of cost.
    """
    buckets: list[list[int]] = []
    padding = longest = 0
    for index in sorted(range(len(costs)), key=lambda index: -costs[index]):
        padding += longest - costs[index]
        if not buckets or padding > overhead:
            buckets.append([])
            padding, longest = 0, costs[index]
        buckets[-1].append(index)
    return buckets


def padded_batches(
    items: Sequence[ItemT], length: Callable[[ItemT], int], *, max_tokens: int, max_rows: int | None = None
) -> Iterator[list[ItemT]]:
    """Sorts items by length and cuts them into batches.

    Args:
        items: Items in any order.
        length: Tokens of an item.
        max_tokens: Padded tokens of a batch (longest item x items); a longer item is a batch of its own.
        max_rows: Most items of a batch; None for any number.

    Yields:
        Non-empty batches, short items first.
    """
    batch: list[ItemT] = []
    for item in sorted(items, key=length):
        rows = len(batch) + 1
        if batch and (rows * length(item) > max_tokens or (max_rows is not None and rows > max_rows)):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
