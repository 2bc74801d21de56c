"""Merging what was mentioned into what is known (000 §4.1, 001 §3.2)."""

from datetime import datetime

from ..extraction.rules.seeds import SEEDS
from ..values.confidence import agreed
from ..values.entities import Entity, EntitySource, EntityStatus
from ..values.ids import entity_id
from ..values.mentions import KNOWN_NAME, Mention
from ..values.text import normalise


def mention_again(entity: Entity, mention: Mention, *, at: datetime, remembered: bool) -> Entity:
    """The entity after one more mention: times widen, the count grows, confidence never falls (001 §3.2).

    A mention that was found because the name is known already says little new: it closes a tenth of the gap to 1. One
    that was found afresh agrees with what is known (`governance.confidence.agreed`). What was archived, or waited for
    a review, is there again: somebody speaks of it.
    """
    return entity.model_copy(
        update={
            "mention_count": entity.mention_count + 1,
            "first_mentioned": min(entity.first_mentioned, at) if entity.mention_count else at,
            "last_mentioned": max(entity.last_mentioned, at) if entity.mention_count else at,
            "confidence": 1.0 if remembered else _reinforced(entity.confidence, mention),
            "subtype": entity.subtype or mention.subtype,
            "source": EntitySource.USER if remembered and entity.mention_count == 0 else entity.source,
            "status": EntityStatus.ACTIVE if entity.merged_into is None else entity.status,
            "review_reason": None if entity.merged_into is None else entity.review_reason,
            "version": entity.version + 1,
        }
    )


def _reinforced(confidence: float, mention: Mention) -> float:
    return agreed(confidence, 0.0 if mention.source == KNOWN_NAME else mention.confidence)


def first_mention(mention: Mention, *, user_id: str, at: datetime, remembered: bool) -> Entity:
    """The entity that a mention of something unknown creates."""
    return Entity(
        entity_id=mention.entity_id or entity_id(user_id, mention.text),
        user_id=user_id,
        entity_value=mention.text,
        normalised_value=normalise(mention.text),
        subtype=mention.subtype,
        confidence=1.0 if remembered else mention.confidence,
        source=EntitySource.USER if remembered else EntitySource.CONVERSATION,
        first_mentioned=at,
        last_mentioned=at,
        mention_count=1,
    )


def system_entities(user_id: str, *, at: datetime) -> list[Entity]:
    """The preloaded entities (000 §10.1) as this user's own, never mentioned yet."""
    return [
        Entity(
            entity_id=entity_id(user_id, seed.name),
            user_id=user_id,
            entity_value=seed.name,
            normalised_value=normalise(seed.name),
            subtype=seed.subtype,
            source=EntitySource.SYSTEM,
            first_mentioned=at,
            last_mentioned=at,
        )
        for seed in SEEDS
    ]
