"""Request bodies of `/persona` (003 §2, DESIGN §9)."""

from typing import Annotated

from pydantic import Field

from memory.values.personas import (
    DEFAULT_PERSONA,
    MAX_GIVEN,
    Persona,
    PersonaId,
    PersonaName,
    PersonaProfile,
    PersonaSentence,
    PersonaStyle,
)

from ..fields import Identifier, Metadata, RequestModel, SessionName, Text, examples
from ..users import User
from .chat import DEFAULT_SESSION


class PersonaBody(RequestModel):
    """Who the assistant is for a user, in place of what was given before."""

    model_config = examples(
        {
            "user_id": "ada",
            "name": "小林",
            "aliases": ["Lin"],
            "facts": ["小林是台南的咖啡師。"],
            "style": "playful",
            "state": {"mood": "cheerful"},
        }
    )

    user_id: User
    persona_id: PersonaId = DEFAULT_PERSONA
    name: PersonaName | None = None
    aliases: Annotated[tuple[PersonaName, ...], Field(max_length=16)] = ()
    facts: Annotated[tuple[PersonaSentence, ...], Field(max_length=MAX_GIVEN)] = Field(
        default=(), description="Sentences about it."
    )
    style: PersonaStyle = Field(
        default="", description="The name of a style, or an instruction; empty for one that fits each message."
    )
    state: Metadata = Field(default={}, description="The character state with which a conversation begins.")

    @property
    def profile(self) -> PersonaProfile:
        """What is given."""
        return PersonaProfile(**self.model_dump(exclude={"user_id"}))


class PersonaTurnBody(RequestModel):
    """A turn that tells something about the assistant: what the user told it, and what it said of itself."""

    model_config = examples(
        {"user_id": "ada", "message": "你住在台南。", "reply": "我很喜歡爵士樂。", "turn_id": "t1"},
    )

    user_id: User
    session_id: SessionName = DEFAULT_SESSION
    persona_id: PersonaId = DEFAULT_PERSONA
    message: Text
    reply: Text | None = None
    turn_id: Identifier = Field(description="It is learned once for each.")
    injected: Annotated[tuple[Text, ...], Field(max_length=64)] = Field(
        default=(), description="Texts that the prompt of the reply held; nothing is learned from their words."
    )


class PersonaList(RequestModel):
    """Personas by id."""

    results: tuple[Persona, ...]


class PersonaRemoved(RequestModel):
    """How much was removed: the profile, and each trait that was learned."""

    removed: int
