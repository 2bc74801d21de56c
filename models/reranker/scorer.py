"""The role that the rerankers of this package play: scores for pairs, in threads."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic

from ..assets.model_facts import ModelFacts
from ..batching.engine import PreparedT

COMPONENT = "reranker"
"""What a reranker is called in errors and logs."""

QueryPassage = tuple[str, str]


class PairScorer(ABC, Generic[PreparedT]):
    """Scores pairs of query and passage in two steps, so that a batcher can tokenise one while another computes.

    Safe to call from several threads; computing takes turns. The weights are read at the first call.
    """

    @abstractmethod
    def load(self) -> ModelFacts:
        """Reads the weights, where that was not done yet, and says what they are.

        Raises:
            ModelUnavailable: They are missing or broken.
        """

    @abstractmethod
    def prepare(self, pairs: Sequence[QueryPassage]) -> list[PreparedT]:
        """Tokenises pairs in order.

        Raises:
            ModelUnavailable: See `load`.
        """

    @abstractmethod
    def forward(self, prepared: Sequence[PreparedT]) -> list[float]:
        """Scores prepared pairs in order: how well each passage answers its query, 0 to 1.

        Raises:
            ModelUnavailable: See `load`.
            RuntimeError: Torch's, where the batch does not fit into memory (`out_of_memory`); a smaller one may.
        """

    def score(self, pairs: Sequence[QueryPassage]) -> list[float]:
        """Both steps at once.

        Raises:
            ModelUnavailable: See `load`.
        """
        return self.forward(self.prepare(pairs)) if pairs else []


def probability(logit: float) -> float:
    """The logistic function; a logit that is no number is no score.

    Raises:
        FloatingPointError: It is not finite.
    """
    if not math.isfinite(logit):
        raise FloatingPointError("The reranker gave a score that is not a number.")
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
