"""How kept values change in place: the same whatever keeps them."""

from datetime import datetime
from typing import TypeVar

from memory.ports.repositories import Access
from memory.values.entities import Entity, EntityStatus
from memory.values.facts import Fact, FactStatus
from memory.values.records import Memory
from memory.values.typed_memories import TypedMemory

A = TypeVar("A", Entity, Memory, TypedMemory)


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


def accessed(value: A, access: Access) -> A:
    """The thing after it was retrieved so often; an access of long ago does not turn the clock back."""
    name = "last_accessed_at" if isinstance(value, Memory) else "accessed_at"
    last: datetime | None = getattr(value, name)
    return value.model_copy(
        update={"access_count": value.access_count + access.count, name: max(last or access.at, access.at)}
    )


def listed_as(entity: Entity) -> str:
    """What the column that lists are filtered by holds: those in review are listed with the active ones."""
    return (EntityStatus.ACTIVE if entity.is_current else entity.status).value
