"""What the reading of memories together with a question decides: its thresholds, and its weight in a ranking."""

from typing import Final

from pydantic import Field, model_validator

from .base import Value

MAX_ANSWER_LINES: Final = 24
"""Memories that are read together with one question: all in one pass, so that the list must be bounded."""


class AnswerRecipe(Value):
    """How what was read changes the ranking.

    Args:
        lines: Number of the best memories that are read.
        weight: Weight of the probability that a memory answers in its new score, 0 to 1; the score that it was found
            with has the rest.
    """

    lines: int = Field(default=16, ge=1, le=MAX_ANSWER_LINES)
    weight: float = Field(default=0.6, ge=0, le=1)


class EvidenceBounds(Value):
    """The probabilities from which a reading decides something, each 0 to 1.

    Where a question is left open was chosen on tuning scenarios with requests to forget, so that it costs a point of
    what can be answered there (docs/benchmarks/conversations.md).

    Attributes:
        abstain_from: `unanswered` from which a question is not answered.
        answer_from: `answers` from which the best memory is quoted.
        document_from: Likewise an excerpt of a document; chosen on tuning excerpts in the same way.
        beside_from: `answers` from which a further memory is quoted beside the best.
        outdated_from: `outdated` from which a memory is no answer beside others, unless it is likelier to be one.
        words_from: The probability from which on the words that answer are told before their quotation. Of 664
            answers in tuning conversations 82% have the right words; of the 563 that reach 0.5, 89%, of the others 43%.
        prompt_from: `answers` from which a memory belongs into a prompt.
    """

    abstain_from: float = Field(default=0.7, ge=0, le=1)
    answer_from: float = Field(default=0.3, ge=0, le=1)
    document_from: float = Field(default=0.5, ge=0, le=1)
    beside_from: float = Field(default=0.5, ge=0, le=1)
    outdated_from: float = Field(default=0.5, ge=0, le=1)
    words_from: float = Field(default=0.5, ge=0, le=1)
    prompt_from: float = Field(default=0.25, ge=0, le=1)

    @model_validator(mode="after")
    def _the_best_is_quoted_first(self) -> "EvidenceBounds":
        if self.beside_from < self.answer_from:
            raise ValueError(
                f"beside_from: must be at least answer_from, {self.answer_from:g}; given: {self.beside_from:g}"
            )
        return self


ANSWERS: Final = AnswerRecipe()
EVIDENCE_BOUNDS: Final = EvidenceBounds()
