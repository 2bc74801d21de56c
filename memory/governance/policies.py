"""Which policy of retention holds for a user, and what a policy would count as forgotten (004 §11.3)."""

import heapq
from collections.abc import AsyncIterator
from datetime import datetime
from enum import StrEnum

from ..ports.stores.record import SystemOfRecord
from ..ports.stores.repositories import read_pages
from ..values.access.identity import app_and_user, app_owner
from ..values.base import Value
from ..values.facts import FactStatus
from ..values.governance.retention import RetentionPolicy
from ..values.records import Memory
from .timeline import RetainedMemory, retained

MAX_SAMPLES = 100
MAX_PREVIEWED = 200_000
"""So many memories and facts are looked at."""
_PAGE = 256


class PolicySource(StrEnum):
    """Whose policy it is: the user's own, else that of the app, else the one of document 004."""

    USER = "user"
    APP = "app"
    DEFAULT = "default"


class EffectivePolicy(Value):
    """The policy that holds, and where it comes from."""

    policy: RetentionPolicy
    source: PolicySource


class Forgotten(Value):
    """How many there are, and how many of them a policy counts as forgotten."""

    total: int = 0
    forgotten: int = 0


class PolicyPreview(Value):
    """What a policy would count as forgotten now; nothing was changed.

    Args:
        memories: Those that were not anonymised.
        facts: Those that are active.
        samples: The memories with the lowest scores among the forgotten, lowest first.
        is_complete: False where there is more than is looked at.
    """

    policy: RetentionPolicy
    users: int = 0
    memories: Forgotten = Forgotten()
    facts: Forgotten = Forgotten()
    samples: tuple[RetainedMemory, ...] = ()
    is_complete: bool = True


async def effective_policy(record: SystemOfRecord, owner: str) -> EffectivePolicy:
    """The policy that holds for a user, by their stored id, or for an app, by `app_owner`."""
    app, user = app_and_user(owner)
    places = [(PolicySource.USER, owner)] if user else []
    for source, place in [*places, (PolicySource.APP, app_owner(app))]:
        async with record.reading(user_id=place) as unit:
            policy = await unit.policies.get()
        if policy is not None:
            return EffectivePolicy(policy=policy, source=source)
    return EffectivePolicy(policy=RetentionPolicy(), source=PolicySource.DEFAULT)


async def set_policy(record: SystemOfRecord, owner: str, policy: RetentionPolicy | None) -> EffectivePolicy:
    """Sets the policy of a user or an app, or removes it; the policy that holds then."""
    async with record.writing(user_id=owner) as unit:
        if policy is None:
            await unit.policies.delete()
        else:
            await unit.policies.save(policy)
        await unit.commit()
    return await effective_policy(record, owner)


async def preview_policy(
    record: SystemOfRecord, owner: str, policy: RetentionPolicy, *, now: datetime, samples: int
) -> PolicyPreview:
    """What a policy would count as forgotten of a user, or of all users of an app; reads page by page.

    Args:
        record: The system of record.
        owner: The stored id of the user, or `app_owner`.
        policy: The policy to try.
        now: When.
        samples: How many memories are shown.
    """
    lowest: list[tuple[float, str, Memory]] = []
    counts = {"users": 0, "memories": 0, "forgotten": 0, "facts": 0, "forgotten_facts": 0}
    is_complete = True
    async for user_id in _users_of(record, owner):
        if not (is_complete := counts["memories"] + counts["facts"] < MAX_PREVIEWED):
            break
        counts["users"] += 1
        async with record.reading(user_id=user_id) as unit:
            async for memories in read_pages(unit.memories.page, lambda memory: memory.memory_id, limit=_PAGE):
                named = [memory for memory in memories if not memory.is_anonymised]
                counts["memories"] += len(named)
                scored = [(policy.retention_of(memory, now), memory) for memory in named]
                gone = [(kept.score, memory.memory_id, memory) for kept, memory in scored if kept.is_forgotten]
                counts["forgotten"] += len(gone)
                lowest = heapq.nsmallest(samples, [*lowest, *gone], key=lambda entry: entry[:2])
            async for facts in read_pages(unit.facts.page, lambda fact: fact.fact_id, limit=_PAGE):
                active = [fact for fact in facts if fact.status is FactStatus.ACTIVE]
                counts["facts"] += len(active)
                counts["forgotten_facts"] += sum(policy.retention_of(fact, now).is_forgotten for fact in active)
    return PolicyPreview(
        policy=policy,
        users=counts["users"],
        memories=Forgotten(total=counts["memories"], forgotten=counts["forgotten"]),
        facts=Forgotten(total=counts["facts"], forgotten=counts["forgotten_facts"]),
        samples=tuple([await _shown(record, memory, policy, now) for _, _, memory in lowest]),
        is_complete=is_complete,
    )


async def _users_of(record: SystemOfRecord, owner: str) -> AsyncIterator[str]:
    """The user, or all users of the app."""
    app, user = app_and_user(owner)
    if user:
        yield owner
        return
    async for users in read_pages(record.backlog.users, lambda user_id: user_id, limit=_PAGE):
        for user_id in users:
            of_app, own_id = app_and_user(user_id)
            if of_app == app and own_id:  # the app itself is an owner, too
                yield user_id


async def _shown(record: SystemOfRecord, memory: Memory, policy: RetentionPolicy, now: datetime) -> RetainedMemory:
    async with record.reading(user_id=memory.user_id) as unit:
        [shown] = await retained(unit, [memory], policy, now=now)
    return shown
