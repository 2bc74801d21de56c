"""The memories of a user along time, each with its facts and how well it is retained (004 §11.3)."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from ..ports.stores.places import cursor_of, place_of
from ..ports.stores.record import UnitOfWork
from ..values.base import Value
from ..values.errors import NotFound
from ..values.facts import Fact
from ..values.governance.retention import Retention, RetentionPolicy
from ..values.records import Memory, MemoryKind

_LEAST_READ = 50


class RetainedFact(Value):
    """A fact, and how well it is retained."""

    fact: Fact
    retention: Retention


class RetainedMemory(Value):
    """A memory with the facts that were stated in it, and how well each is retained."""

    memory: Memory
    retention: Retention
    facts: tuple[RetainedFact, ...] = ()


class Timeline(Value):
    """A page of a timeline, latest first.

    Args:
        policy: By which retention was computed.
        next: The cursor of the next page; None on the last one.
    """

    results: tuple[RetainedMemory, ...]
    policy: RetentionPolicy
    next: str | None = None


async def read_timeline(
    unit: UnitOfWork,
    policy: RetentionPolicy,
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    kind: MemoryKind | None = None,
    after: str | None = None,
    limit: int,
) -> Timeline:
    """The memories of a time (`until` does not belong to it), of a kind or of all.

    Raises:
        InvalidField: `after` is no cursor.
    """
    found: list[Memory] = []
    behind = place_of(after)
    read = max(limit + 1, _LEAST_READ)
    while len(found) <= limit:
        page = await unit.memories.timeline(since=since, until=until, behind=behind, limit=read)
        found += [memory for memory in page if kind in (None, memory.kind)]
        if len(page) < read:
            break
        behind = page[-1].created_at, page[-1].memory_id
    shown = found[:limit]
    more = len(found) > limit > 0
    return Timeline(
        results=tuple(await retained(unit, shown, policy, now=now)),
        policy=policy,
        next=cursor_of(shown[-1].created_at, shown[-1].memory_id) if more else None,
    )


async def read_memory(unit: UnitOfWork, memory_id: str, policy: RetentionPolicy, *, now: datetime) -> RetainedMemory:
    """One memory.

    Raises:
        NotFound: The user has no such memory.
    """
    found = await retained(unit, await unit.memories.get([memory_id]), policy, now=now)
    if not found:
        raise NotFound(f"memory_id: there is no memory {memory_id!r}.")
    return found[0]


async def retained(
    unit: UnitOfWork, memories: Sequence[Memory], policy: RetentionPolicy, *, now: datetime
) -> list[RetainedMemory]:
    """Memories with their facts, in the order given."""
    facts: dict[str, list[RetainedFact]] = defaultdict(list)
    for fact in await unit.facts.stated_in([memory.resource_id for memory in memories]) if memories else ():
        facts[fact.resource_id].append(RetainedFact(fact=fact, retention=policy.retention_of(fact, now)))
    return [
        RetainedMemory(
            memory=memory, retention=policy.retention_of(memory, now), facts=tuple(facts[memory.resource_id])
        )
        for memory in memories
    ]
