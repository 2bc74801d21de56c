"""The synchronous encoder engine: texts to token ids, token ids to unit vectors. `batching` runs it in threads."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from memory.ports.language import FloatMatrix, TextKind

from .batch_engine import BatchEngine

LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")
"""What a Python string can hold and no tokenizer can read."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedText:
    """A text ready for the model.

    Attributes:
        input_ids: Shape (tokens,), int64, special tokens included, cut at the model's limit.
    """

    input_ids: npt.NDArray[np.int64]

    @property
    def token_count(self) -> int:
        """How many tokens the model will read."""
        return len(self.input_ids)


FloatVector = npt.NDArray[np.float32]
"""One embedding: shape (dimension,), float32."""


class EncoderEngine(BatchEngine[TokenizedText, FloatVector]):
    """A model in two steps, so that a batcher can tokenise in one thread while another computes.

    Both steps are safe to call from several threads at once.
    """

    pass_overhead_tokens: int = 32
    """What one forward pass costs beyond its tokens, in tokens: a batch is split by length where padding costs more."""

    @property
    @override
    def component(self) -> str:
        return "encoder"

    @property
    @abstractmethod
    def model_id(self) -> str:
        """The catalogue id of the model."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a vector."""

    @abstractmethod
    def prepare(self, texts: Sequence[str], kind: TextKind) -> list[TokenizedText]:
        """Tokenises texts, with the prefix of their kind."""

    @abstractmethod
    def forward_padded(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        """Computes one non-empty batch in one pass, padded to its longest text.

        Returns:
            Shape (len(batch), dimension), float32, rows of length 1.

        Raises:
            MemoryError: The batch does not fit into memory; a smaller one may.
        """

    @override
    def forward(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        """Computes a batch in order, in as many passes by length as save more padding than they cost.

        Returns:
            Shape (len(batch), dimension), float32, contiguous, rows of length 1.

        Raises:
            MemoryError: The batch does not fit into memory; a smaller one may.
        """
        vectors = np.empty((len(batch), self.dimension), np.float32)
        for bucket in self.buckets(batch):
            vectors[bucket] = self.forward_padded([batch[index] for index in bucket])
        return vectors

    @override
    def padded_tokens(self, batch: Sequence[TokenizedText]) -> int:
        return sum(len(bucket) * batch[bucket[0]].token_count for bucket in self.buckets(batch))

    def buckets(self, batch: Sequence[TokenizedText]) -> list[list[int]]:
        """The passes that `forward` makes: positions in the batch, longest first."""
        return length_buckets([text.token_count for text in batch], self.pass_overhead_tokens)

    def encode(self, texts: Sequence[str], kind: TextKind) -> FloatMatrix:
        """Both steps at once, for scripts and tests; shape (len(texts), dimension)."""
        return self.forward(self.prepare(texts, kind))


def length_buckets(lengths: Sequence[int], overhead: int) -> list[list[int]]:
    """Groups positions by length: a group closes once its padding has cost as much as another pass would.

    Args:
        lengths: Length of each text, in tokens.
        overhead: What a pass costs beyond its tokens, in tokens.

    Returns:
        Every position once, groups and positions in falling order of length.
    """
    buckets: list[list[int]] = []
    padding = longest = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        padding += longest - lengths[index]
        if not buckets or padding > overhead:
            buckets.append([])
            padding, longest = 0, lengths[index]
        buckets[-1].append(index)
    return buckets
