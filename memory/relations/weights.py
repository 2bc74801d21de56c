"""How much a relation weighs: every time it is said adds to it, and time takes away (000 §4.2, DESIGN §6).

    strength(t) = Σᵢ aᵢ · 2^(−(t − tᵢ) / 90 days)        aᵢ: what the observation at tᵢ adds, 0–1
    confidence  = 1 − Πᵢ (1 − cᵢ), at most 0.99          cᵢ: how sure each observation alone is
    share(t)    = strength / (1 + strength)              in 0–1, for fusion with other scores

Both sums can be kept up with one number each, and neither depends on the order in which observations arrive, so a
log that is learned again, late or by several learners gives the same relation.
"""

from datetime import datetime, timedelta

from ..values.entities import EntityRelation

HALF_LIFE = timedelta(days=90)
"""After which a relation that nobody mentions again weighs half as much."""
MOST_SURE = 0.99


def strength(relation: EntityRelation, now: datetime) -> float:
    """What the relation weighs at `now`; at a time before its last observation, what it weighed then or more."""
    return relation.weight * _decay(now - relation.updated_at)


def share(relation: EntityRelation, now: datetime) -> float:
    """The strength as a number in 0–1 that grows ever more slowly: 1 observation is 0.5, 3 are 0.75."""
    weighs = strength(relation, now)
    return weighs / (1 + weighs)


def observed(relation: EntityRelation, observation: EntityRelation) -> EntityRelation:
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
                min(MOST_SURE, 1 - (1 - relation.confidence) * (1 - observation.confidence)),
            ),
            "created_at": min(relation.created_at, observation.created_at),
        }
    )


def _decay(age: timedelta) -> float:
    return float(0.5 ** max(0.0, age / HALF_LIFE))
