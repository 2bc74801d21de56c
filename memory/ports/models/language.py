"""Roles that read language: encoder, extractor, resolver, reader, reranker. They hold no user's data."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from ...values.base import Value
from ...values.errors import InvalidField
from ...values.understanding.dialogue import Turn
from ...values.understanding.extractions import Extraction
from ...values.understanding.readings import Context, Reading, ReadRequest, StatedFact
from ...values.understanding.resolutions import CoreferenceResult, ResolutionRequest

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


class TokenCounter(ABC):
    """Counts tokens as a model reads them, so that a budget in tokens is kept."""

    @abstractmethod
    async def count(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, in order.

        Raises:
            Overloaded: The queue is full.
            ModelUnavailable: The tokenizer is away.
        """


class Extractor(ABC):
    """Finds entity mentions and remember-intents in texts."""

    @property
    def version(self) -> str:
        """Which code and weights it extracts with, as it writes into `Extraction.version`; empty where unknown."""
        return ""

    @abstractmethod
    async def extract(
        self,
        texts: Sequence[str],
        *,
        known: Sequence[Sequence[str]] | None = None,
        contexts: Sequence[Context] | None = None,
    ) -> list[Extraction]:
        """Extracts from each text on its own.

        Args:
            texts: Any language, any width; offsets in the result are into these very strings.
            known: For each text, names that its user's long-term memory already holds and that should be found
                wherever they occur.
            contexts: For each text the conversation in which it is read; `Extraction.rewrite` is filled only with
                this.
        """


class Resolver(ABC):
    """Resolves the references of a query (000 §7.1 `resolve_coreference`)."""

    @abstractmethod
    async def resolve(self, request: ResolutionRequest, extraction: Extraction) -> CoreferenceResult:
        """Resolves what can be resolved above the confidence floor; the rest stays as it was.

        Args:
            request: The query, its session and what long-term memory offers.
            extraction: Of the query, read in its conversation.
        """


class Reader(ABC):
    """Reads messages in their conversations with a trained model: names, intents, references, facts (DESIGN §5)."""

    @abstractmethod
    async def read(
        self, requests: Sequence[ReadRequest], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[Reading]:
        """Reads messages in order, each in one pass.

        Raises:
            Overloaded: The queue is full.
            ModelUnavailable: The weights are missing or corrupt, or the engine is gone.
        """


class FactRequest(Value):
    """A message of the user's, and the turns of its session before it, oldest first."""

    text: str
    turns: tuple[Turn, ...] = ()


class FactReader(ABC):
    """Finds the facts that messages state, in place of those that the trained reader finds (002 §4.1)."""

    @abstractmethod
    async def read_facts(self, requests: Sequence[FactRequest]) -> list[tuple[StatedFact, ...] | None]:
        """The facts of each message, in order; None where they cannot be had, so that the trained reader's hold.

        Offsets of a span are into the message, or into the turn that it names.
        """


MAX_RERANKED = 50
"""Passages of one `Reranker.rerank` call: each is a forward pass of its own, so the list must be bounded."""


class Reranker(ABC):
    """Reads a query and a passage together and says how well the passage answers it (DESIGN §2, §5)."""

    @abstractmethod
    async def rerank(
        self, query: str, passages: Sequence[str], *, priority: Priority = Priority.INTERACTIVE
    ) -> list[float]:
        """Scores passages in order.

        Args:
            query: As it was asked, references resolved.
            passages: At most `MAX_RERANKED`; longer ones than the model reads are cut.
            priority: Who waits for whom.

        Returns:
            For each passage how well it answers the query, 0 to 1; comparable within one call.

        Raises:
            InvalidField: More than `MAX_RERANKED` passages.
            Overloaded: The queue is full.
            ModelUnavailable: The weights are missing or corrupt, or the engine is gone.
        """


def check_reranked(passages: Sequence[str]) -> None:
    """Refuses a list that is too long.

    Raises:
        InvalidField: It has more than `MAX_RERANKED` passages.
    """
    if len(passages) > MAX_RERANKED:
        raise InvalidField(
            f"{len(passages)} passages are too many to read again.",
            field="passages",
            allowed=f"at most {MAX_RERANKED}",
        )
