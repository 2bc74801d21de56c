"""Encoder engines: texts to token ids, token ids to unit vectors. `batching` runs them in threads."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from memory.ports.models.language import FloatMatrix, TextKind
from memory.values.errors import ModelUnavailable

from ..assets.catalog import ModelEntry
from ..batching.engine import BatchEngine, length_buckets
from .text_tokenizer import TextTokenizer, TokenizedText

FloatVector = npt.NDArray[np.float32]
"""One embedding: shape (dimension,), float32."""


class EncoderEngine(BatchEngine[TokenizedText, FloatVector]):
    """A model in two steps, so that a batcher can tokenise in one thread while another computes.

    Both steps are safe to call from several threads at once.
    """

    dtype: str = "fp32"
    """The type in which the layers compute: `fp32` or `bf16`."""

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
    @override
    def forward(self, batch: Sequence[TokenizedText]) -> FloatMatrix:
        """Computes a batch in order.

        Returns:
            Shape (len(batch), dimension), float32, contiguous, rows of length 1.

        Raises:
            MemoryError: The batch does not fit into memory; a smaller one may.
            FloatingPointError: A vector is not a number.
        """

    def encode(self, texts: Sequence[str], kind: TextKind) -> FloatMatrix:
        """`prepare` and `forward` in one call, for scripts and tests; shape (len(texts), dimension)."""
        return self.forward(self.prepare(texts, kind))

    def checked(self, vectors: FloatMatrix) -> FloatMatrix:
        """The vectors, unchanged.

        Raises:
            FloatingPointError: A vector is not a number.
        """
        if not np.isfinite(vectors).all():
            raise FloatingPointError(f"{self.model_id} gave a vector that is not a number.")
        return vectors


class PaddedEncoderEngine(EncoderEngine):
    """An engine whose model reads texts padded to one length: a batch is split by length where that saves padding."""

    pass_overhead_tokens: int = 32
    """Cost of a forward pass beyond its tokens, in tokens."""

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
        """Computes a batch in order, in as many passes by length as save more padding than they cost."""
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


class PreparedEngine(EncoderEngine):
    """An engine of a prepared model: it has the model's id in the catalogue and its tokenizer.

    Args:
        entry: The catalogue entry.
        folder: The prepared model, for errors.
        tokenizer: Of the model.
        dimension: Length of the vectors of the loaded weights.

    Raises:
        ModelUnavailable: The entry has vectors of another length.
    """

    def __init__(self, entry: ModelEntry, folder: Path, *, tokenizer: TextTokenizer, dimension: int) -> None:
        if entry.dimension not in (None, dimension):
            raise ModelUnavailable(
                f"{folder} holds vectors of {dimension}, and {entry.id} has {entry.dimension}.", component="encoder"
            )
        self._entry = entry
        self._tokenizer = tokenizer
        self._dimension = dimension

    @property
    @override
    def model_id(self) -> str:
        return self._entry.id

    @property
    @override
    def dimension(self) -> int:
        return self._dimension

    @override
    def prepare(self, texts: Sequence[str], kind: TextKind) -> list[TokenizedText]:
        return self._tokenizer.prepare(texts, kind)
