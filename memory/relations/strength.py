"""The strength of a relation: every observation adds to it, and it decays with time (000 §4.2, DESIGN §6).

    strength(t)  = Σᵢ aᵢ · 2^(−(t − tᵢ) / 90 days)       aᵢ: the weight of the observation at tᵢ, 0–1
    confidence   = 1 − Πᵢ (1 − cᵢ), at most 0.99         cᵢ: the confidence of each observation alone
    saturated(t) = strength / (1 + strength)             in 0–1, for fusion with other scores

Each sum is kept as one number and does not depend on the order of the observations, so a log that is learned again,
late or by several learners gives the same relation.
"""

from datetime import datetime, timedelta

from ..values.entities import EntityRelation

HALF_LIFE = timedelta(days=90)
"""Time in which a relation that is not observed again loses half of its strength."""
MAX_CONFIDENCE = 0.99


def current_strength(relation: EntityRelation, now: datetime) -> float:
    """The decayed weight at `now`; without decay for a time before the last observation."""
    return relation.weight * _decay(now - relation.updated_at)


def saturated_strength(relation: EntityRelation, now: datetime) -> float:
    """The current strength mapped to 0–1: one observation gives 0.5, three give 0.75."""
    strength = current_strength(relation, now)
    return strength / (1 + strength)


def add_observation(relation: EntityRelation, observation: EntityRelation) -> EntityRelation:
    """The relation after one more observation, which is a relation with the same ends and type.

    Evidence and description are those of the later of the two.
    """
    late, early = (observation, relation) if observation.updated_at >= relation.updated_at else (relation, observation)
    return late.model_copy(
        update={
            "relation_id": relation.relation_id,
            "source_entity_id": relation.source_entity_id,
            "target_entity_id": relation.target_entity_id,
            "weight": late.weight + early.weight * _decay(late.updated_at - early.updated_at),
            "confidence": max(
                relation.confidence,
                observation.confidence,
                min(MAX_CONFIDENCE, 1 - (1 - relation.confidence) * (1 - observation.confidence)),
            ),
            "created_at": min(relation.created_at, observation.created_at),
        }
    )


def _decay(age: timedelta) -> float:
    return float(0.5 ** max(0.0, age / HALF_LIFE))
