"""Many items, some at a time: what a store takes in one call is bounded."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in their order, `size` of them together; the last ones may be fewer."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
