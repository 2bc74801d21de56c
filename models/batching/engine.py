"""What a model offers so that a batcher can merge concurrent requests into batches for it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Prepared(Protocol):
    """One input, ready for the model."""

    @property
    def token_count(self) -> int:
        """How many tokens the model will read."""
        ...


PreparedT = TypeVar("PreparedT", bound=Prepared)
OutputT = TypeVar("OutputT")
OutputT_co = TypeVar("OutputT_co", covariant=True)


class Outputs(Protocol[OutputT_co]):
    """What a batch gives, one output a row: a list, or the rows of an array."""

    def __getitem__(self, row: int, /) -> OutputT_co:
        """The output of one input."""
        ...


class BatchEngine(ABC, Generic[PreparedT, OutputT]):
    """Computes batches; safe to call from several threads at once."""

    @property
    @abstractmethod
    def component(self) -> str:
        """What it is called in errors and logs."""

    @abstractmethod
    def forward(self, batch: Sequence[PreparedT]) -> Outputs[OutputT]:
        """Computes a non-empty batch in order.

        Raises:
            MemoryError: The batch does not fit into memory; a smaller one may.
        """

    def padded_tokens(self, batch: Sequence[PreparedT]) -> int:
        """Tokens that computing a batch costs, padding included."""
        return max(one.token_count for one in batch) * len(batch)
