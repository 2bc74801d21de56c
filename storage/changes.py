"""How kept values change in place: the same whatever keeps them."""

from datetime import datetime

from memory.entities import Entity
from memory.facts import Fact, FactStatus


def mentioned(entity: Entity, at: datetime) -> Entity:
    """The entity after one more mention at this time (000 §5.4)."""
    return entity.model_copy(
        update={
            "first_mentioned": min(entity.first_mentioned, at),
            "last_mentioned": max(entity.last_mentioned, at),
            "mention_count": entity.mention_count + 1,
            "version": entity.version + 1,
        }
    )


def with_status(fact: Fact, status: FactStatus, *, now: datetime) -> Fact:
    """The fact in another state (002 §3.3)."""
    return fact.model_copy(update={"status": status, "updated_at": now})
