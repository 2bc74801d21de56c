"""Roles that read language: encoder, extractor, resolver. They hold no user's data."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from ..coreference.resolutions import CoreferenceResult, ResolutionRequest
from ..extraction.mentions import Extraction

FloatMatrix = npt.NDArray[np.float32]
"""Embeddings: shape (texts, dimension), float32, rows of length 1."""


class TextKind(StrEnum):
    """What a text is to the encoder: a model of the e5 family puts `query: ` or `passage: ` before it."""

    QUERY = "query"
    PASSAGE = "passage"


class Priority(IntEnum):
    """Who waits for whom: interactive work goes first, with ageing so that batch work is never starved."""

    INTERACTIVE = 0
    BATCH = 1


class Encoder(ABC):
    """Turns texts into unit vectors."""

    @property
    @abstractmethod
    def model_id(self) -> str:
        """The catalogue id of the model; vectors of two models never meet in one search (DESIGN §5)."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a vector."""

    @abstractmethod
    async def encode(
        self, texts: Sequence[str], *, kind: TextKind, priority: Priority = Priority.INTERACTIVE
    ) -> FloatMatrix:
        """Encodes texts in order.

        Returns:
            Array of shape (len(texts), dimension), float32, each row of length 1.

        Raises:
            Overloaded: The queue is full.
            ModelUnavailable: The engine is gone.
        """


class Extractor(ABC):
    """Finds entity mentions and remember-intents in texts."""

    @abstractmethod
    async def extract(self, texts: Sequence[str], *, known: Sequence[Sequence[str]] | None = None) -> list[Extraction]:
        """Extracts from each text on its own.

        Args:
            texts: Any language, any width; offsets in the result are into these very strings.
            known: For each text, names that its user's long-term memory already holds and that should be found
                wherever they occur.
        """


class Resolver(ABC):
    """Resolves the references of a query (000 §7.1 `resolve_coreference`)."""

    @abstractmethod
    async def resolve(self, request: ResolutionRequest) -> CoreferenceResult:
        """Resolves what can be resolved above the confidence floor; the rest stays as it was."""
