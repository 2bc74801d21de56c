"""Settings of what answers a question: how many memories are read with it, and what their reading decides."""

from pydantic import Field, model_validator

from memory.values.evidence import ANSWERS, EVIDENCE_BOUNDS, MAX_ANSWER_LINES, AnswerRecipe, EvidenceBounds

from .section import Section


class AnswerArgs(Section):
    """What the answer reader's probabilities decide; `models.answers` turns it on and off."""

    lines: int = Field(
        default=ANSWERS.lines,
        ge=1,
        le=MAX_ANSWER_LINES,
        description="How many of the best memories are read together with a question.",
    )
    weight: float = Field(
        default=ANSWERS.weight,
        ge=0,
        le=1,
        description="Weight of the probability that a memory answers in its score; the score that it was found with "
        "has the rest.",
    )
    abstain_from: float = Field(
        default=EVIDENCE_BOUNDS.abstain_from,
        ge=0,
        le=1,
        description="Probability that nothing answers from which on the reply is that it is not known.",
    )
    answer_from: float = Field(
        default=EVIDENCE_BOUNDS.answer_from,
        ge=0,
        le=1,
        description="Probability from which on the best memory is quoted.",
    )
    document_from: float = Field(
        default=EVIDENCE_BOUNDS.document_from,
        ge=0,
        le=1,
        description="Likewise the best excerpt of a document, where a chat names corpora.",
    )
    beside_from: float = Field(
        default=EVIDENCE_BOUNDS.beside_from,
        ge=0,
        le=1,
        description="Probability from which on a further memory is quoted beside it; at least `answer_from`.",
    )
    outdated_from: float = Field(
        default=EVIDENCE_BOUNDS.outdated_from,
        ge=0,
        le=1,
        description="Probability that a memory holds no longer from which on it is no answer.",
    )
    words_from: float = Field(
        default=EVIDENCE_BOUNDS.words_from,
        ge=0,
        le=1,
        description="Probability from which on the words that answer are told before their quotation.",
    )
    prompt_from: float = Field(
        default=EVIDENCE_BOUNDS.prompt_from,
        ge=0,
        le=1,
        description="Probability from which on a memory enters a prompt (`/chat/before`).",
    )

    @model_validator(mode="after")
    def _the_best_is_quoted_first(self) -> "AnswerArgs":
        if self.beside_from < self.answer_from:
            raise ValueError(
                f"answers.beside_from: must be at least answers.answer_from, {self.answer_from:g}; "
                f"given: {self.beside_from:g}"
            )
        return self

    @property
    def recipe(self) -> AnswerRecipe:
        """How a reading changes the ranking."""
        return AnswerRecipe(lines=self.lines, weight=self.weight)

    @property
    def bounds(self) -> EvidenceBounds:
        """From which probabilities on a reading decides something."""
        return EvidenceBounds(**{name: getattr(self, name) for name in EvidenceBounds.model_fields})
