"""Entities and their relations (000 §4.1–4.2, 001 §2.1, DESIGN §4)."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .base import Scalar, Timestamp, UserId, Value
from .understanding.mentions import EntitySubtype

Confidence = Annotated[float, Field(ge=0.0, le=1.0)]

CONFIDENCE_GAIN = 0.1
"""Share of the remaining doubt that a repetition removes."""


def raised_confidence(known: float, repeated: float) -> float:
    """The confidence of something known, both in 0–1, after it was said again: `m + 0.1·(1 − m)`, m the surer of both.

    001 §3.2 asks for an update and gives no formula. This one never falls, never leaves 0–1, does not depend on the
    order, and comes nearer to 1 with each repetition without arriving there.
    """
    surer = max(known, repeated)
    return surer + CONFIDENCE_GAIN * (1.0 - surer)


class EntityType(StrEnum):
    """The stored type: 000 §3.3 has exactly one; the finer type is `Entity.subtype`."""

    ENTITY_NOUN = "entity_noun"


class EntityStatus(StrEnum):
    """000 §4.1."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    REVIEW = "review"


class EntitySource(StrEnum):
    """The source of an entity."""

    SYSTEM = "system"
    USER = "user"
    CONVERSATION = "conversation"


class Entity(Value):
    """A name that a user's long-term memory holds.

    `entity_value` is the spelling to show, `normalised_value` the one to compare (`memory.values.text.normalise`).
    `accessed_at` is when it was last retrieved or restored, `review_reason` why it is in review.
    `merged_into` is set on an archived entity whose names, mentions and relations another one took over.
    """

    entity_id: str
    user_id: UserId
    entity_value: str
    normalised_value: str
    aliases: tuple[str, ...] = ()
    entity_type: EntityType = EntityType.ENTITY_NOUN
    subtype: EntitySubtype | None = None
    confidence: Confidence = 1.0
    status: EntityStatus = EntityStatus.ACTIVE
    source: EntitySource = EntitySource.CONVERSATION
    first_mentioned: Timestamp
    last_mentioned: Timestamp
    mention_count: int = 0
    access_count: int = 0
    accessed_at: Timestamp | None = None
    review_reason: str | None = None
    attributes: dict[str, Scalar] = {}
    related_entities: tuple[str, ...] = ()
    version: int = 1
    merged_into: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which it is found, its value first."""
        return (self.entity_value, *self.aliases)

    @property
    def is_current(self) -> bool:
        """Whether it can be found and referred to: every one but the archived, also those in review (001 §4)."""
        return self.status is not EntityStatus.ARCHIVED

    def is_of(self, wanted: EntityType | EntitySubtype | None) -> bool:
        """Whether it has this type or subtype; None stands for any."""
        return wanted in (None, self.entity_type, self.subtype)

    @property
    def is_unseen_seed(self) -> bool:
        """Whether it was only preloaded (000 §10.1): the user has never mentioned it, so lists leave it out."""
        return self.source is EntitySource.SYSTEM and self.mention_count == 0

    def mentioned_again(self, at: datetime) -> "Entity":
        """The entity after one more mention: the count grows, the times widen, and an archived one is there again.

        One that another entity has taken over stays archived; one that was only preloaded is first mentioned now.
        """
        revived = {"status": EntityStatus.ACTIVE, "review_reason": None} if self.merged_into is None else {}
        return self.model_copy(
            update={
                "mention_count": self.mention_count + 1,
                "first_mentioned": min(self.first_mentioned, at) if self.mention_count else at,
                "last_mentioned": max(self.last_mentioned, at) if self.mention_count else at,
                "version": self.version + 1,
                **revived,
            }
        )


class EntityRelation(Value):
    """An edge between two entities of one user, with the log entry that is its evidence.

    `evidence_start` and `evidence_end` are code-point offsets into that entry: the words that say so. `weight` is how
    much has been said of it as of `updated_at`; it decays from there on (`memory.relations.strength`).
    """

    relation_id: str
    user_id: UserId
    source_entity_id: str
    target_entity_id: str
    relation_type: str
    description: str | None = None
    confidence: Confidence = 1.0
    evidence: str | None = None
    evidence_start: int | None = None
    evidence_end: int | None = None
    weight: Annotated[float, Field(ge=0.0)] = 1.0
    created_at: Timestamp
    updated_at: Timestamp
