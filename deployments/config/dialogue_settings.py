"""Settings of the dialogue graph (003)."""

from pathlib import Path

from pydantic import Field

from .section import Section


class DialogueArgs(Section):
    """The dialogue graph, which answers as the model `jiyi-dialogue`; needs the extra `langgraph`."""

    personas: Path | None = Field(
        default=None,
        description="A YAML or JSON file with the personas that every user has, until they have one of their own by "
        "the same id: a list of `persona_id`, `name`, `aliases`, `facts`, `style` and `state`.",
    )
    max_reflections: int = Field(
        default=1,
        ge=0,
        le=5,
        description="How often the language model is asked again for a reply that is not good; then memory is quoted.",
    )
    consolidate_every: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="After so many turns of a conversation the memories of its user are consolidated, besides the "
        "nightly job; 0 for never.",
    )
    max_reply_tokens: int = Field(default=1_024, ge=64, description="The longest reply, in the model's tokens.")
