"""Personas: who the assistant is for a user, as it was given and as conversation has told (003 §2.1, §2.2)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from .base import Scalar, Timestamp, UserId, Value
from .entities import Confidence

DEFAULT_PERSONA = "default"
MAX_GIVEN = 64
"""Sentences that are given about a persona."""
MAX_LEARNED = 128
"""What conversation has told about a persona; beyond it the least sure goes."""

PersonaId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[\w-]+$")]
PersonaName = Annotated[
    str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")
]
PersonaStyle = Annotated[str, StringConstraints(max_length=500)]
PersonaSentence = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"\S")]


class TraitOrigin(StrEnum):
    """Where a trait comes from."""

    SAID = "said"
    """The assistant said it of itself."""
    TOLD = "told"
    """The user told it about itself."""


class Trait(Value):
    """What conversation has told about a persona.

    Args:
        predicate: Of `memory.values.predicates`.
        object: In the words that were said.
        sources: The log entries that say it.
        said_at: When it was said last.
    """

    predicate: str
    object: str
    origin: TraitOrigin
    confidence: Confidence
    sources: tuple[str, ...] = ()
    said_at: Timestamp


class PersonaProfile(Value):
    """What is given about a persona, by a file or by the API; conversation does not change it.

    Args:
        aliases: Other names by which it is addressed in a conversation of several.
        facts: Sentences about it.
        style: A name of `memory.dialogue.styles.STYLES`, or an instruction in words; empty for one by the message.
        state: The character state with which a conversation begins.
    """

    persona_id: PersonaId = DEFAULT_PERSONA
    name: PersonaName | None = None
    aliases: Annotated[tuple[PersonaName, ...], Field(max_length=16)] = ()
    facts: Annotated[tuple[PersonaSentence, ...], Field(max_length=MAX_GIVEN)] = ()
    style: PersonaStyle = ""
    state: Annotated[dict[str, Scalar], Field(max_length=32)] = {}


class Persona(Value):
    """A persona of one user: what is given, and what conversation has told since, surest first."""

    user_id: UserId
    profile: PersonaProfile
    learned: tuple[Trait, ...] = ()
    updated_at: Timestamp | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it is addressed: those that are given, then those that were told."""
        told = (trait.object for trait in self.learned if trait.predicate in ("name", "nickname"))
        given = (self.profile.name,) if self.profile.name else ()
        return tuple(dict.fromkeys((*given, *self.profile.aliases, *told)))
