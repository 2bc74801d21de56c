"""What the system of record keeps besides entities: the raw log and the memories learned from it (DESIGN §4)."""

from datetime import date
from enum import StrEnum
from typing import Final

from pydantic import ValidationError, ValidatorFunctionWrapHandler, field_validator

from .base import Scalar, SessionId, Timestamp, UserId, Value
from .ids import memory_id
from .understanding.dialogue import Role, Turn
from .understanding.extractions import Extraction
from .understanding.mentions import Mention


class ResourceKind(StrEnum):
    """The kind of an entry of the raw log; a FACT was given as a fact, so that none is read from its text."""

    TURN = "turn"
    NOTE = "note"
    FACT = "fact"


class Resource(Value):
    """One entry of the raw log: append-only, never changed, never deleted except by erasure (002 §3).

    Args:
        resource_id: Chosen by the writer, so that a repeated append changes nothing.
        sequence: Position in the log, given by the store; 0 before it is stored.
        learn: Whether the learner should make memories and entities of it. False for Jiyi's own answers, which
            only quote what is known already.
        resolved: The stand-alone form of a user's message, where references were resolved.
        understanding: What was found in `content` when it was said, so that nothing reads it a second time (DESIGN
            §3.2); None where nobody has looked, or with a part missing. One that an incompatible build stored reads as
            None.
    """

    resource_id: str
    user_id: UserId
    session_id: SessionId
    kind: ResourceKind = ResourceKind.TURN
    role: Role = Role.USER
    speaker: str | None = None
    content: str
    resolved: str | None = None
    understanding: Extraction | None = None
    metadata: dict[str, Scalar] = {}
    created_at: Timestamp
    learn: bool = True
    sequence: int = 0

    @field_validator("understanding", mode="wrap")
    @classmethod
    def _drop_unusable(cls, given: object, validate: ValidatorFunctionWrapHandler) -> Extraction | None:
        try:
            extraction: Extraction | None = validate(given)
        except ValidationError:
            return None
        return None if extraction and extraction.degraded else extraction

    def as_turn(self, mentions: tuple[Mention, ...] | None = None) -> Turn:
        """The entry as a turn of its session, with what was found in it where somebody has looked."""
        return Turn(
            role=self.role,
            content=self.content,
            created_at=self.created_at,
            turn_id=self.resource_id,
            speaker=self.speaker,
            mentions=mentions,
        )


EXPIRES_ON: Final = "expires_on"
"""Metadata of a memory that is not found any more from the day after this one on, as `YYYY-MM-DD` in UTC."""


class MemoryKind(StrEnum):
    """Episodic text by its origin."""

    TURN = "turn"
    NOTE = "note"
    REMEMBERED = "remembered"


class Memory(Value):
    """A piece of episodic memory: what was said, when, by whom (001 §2.1, 004 §2).

    `resolved` is the text with its references resolved, or what it corrects as it was meant; None where that is the
    text itself. `context` is the turn before it in the same session; it is embedded together with `text` (DESIGN §6)
    and never shown as the memory itself. `entity_ids` are the entities that it mentions. `version` grows when the
    content is rewritten, not with uses (004 §7.4). `is_anonymised` says that a decision has left nothing personal of
    it (004 §7.3). `replaced_by` is the log entry after which what it says, or some of it, holds no longer.
    """

    memory_id: str
    user_id: UserId
    session_id: SessionId
    resource_id: str
    kind: MemoryKind = MemoryKind.TURN
    role: Role = Role.USER
    speaker: str | None = None
    text: str
    resolved: str | None = None
    context: str | None = None
    entity_ids: tuple[str, ...] = ()
    metadata: dict[str, Scalar] = {}
    confidence: float = 1.0
    access_count: int = 0
    last_accessed_at: Timestamp | None = None
    created_at: Timestamp
    updated_at: Timestamp
    version: int = 1
    is_anonymised: bool = False
    replaced_by: str | None = None

    def is_expired(self, today: date) -> bool:
        """Whether its last day (`EXPIRES_ON`) is over; what is no date says nothing."""
        last = self.metadata.get(EXPIRES_ON)
        try:
            return isinstance(last, str) and date.fromisoformat(last) < today
        except ValueError:
            return False

    @classmethod
    def from_resource(
        cls,
        resource: Resource,
        *,
        context: str | None = None,
        entity_ids: tuple[str, ...] = (),
        remembered: bool = False,
    ) -> "Memory":
        """The memory of one entry of the raw log; its id depends on the entry alone."""
        kind = MemoryKind.TURN if resource.kind is ResourceKind.TURN else MemoryKind.NOTE
        return cls(
            memory_id=memory_id(resource.user_id, resource.resource_id),
            user_id=resource.user_id,
            session_id=resource.session_id,
            resource_id=resource.resource_id,
            kind=MemoryKind.REMEMBERED if remembered else kind,
            role=resource.role,
            speaker=resource.speaker,
            text=resource.content,
            resolved=resource.resolved,
            context=context,
            entity_ids=entity_ids,
            metadata=resource.metadata,
            created_at=resource.created_at,
            updated_at=resource.created_at,
        )
