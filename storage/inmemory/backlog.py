"""The backlog of background work, over all users, in memory."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from typing_extensions import override

from memory.ports.stores.record import Backlog, FactTotal, OutboxEntry
from memory.ports.stores.vectors import Collection
from memory.values.documents.corpora import SourceState, SourceVersion
from memory.values.facts import FactStatus
from memory.values.records import Resource

from ..shared.checks import check_user
from ..shared.owners import count_users
from .repositories.state import UserData


class InMemoryBacklog(Backlog):
    """The learner's view of all users.

    Args:
        users: The data of each user.
        numbers: Where sequence numbers come from.
        write_lock: Held while anything is written.
    """

    def __init__(self, users: dict[str, UserData], numbers: Iterator[int], write_lock: asyncio.Lock) -> None:
        self._users = users
        self._numbers = numbers
        self._write_lock = write_lock

    @override
    async def unlearned(self, *, limit: int, user_id: str | None = None) -> list[Resource]:
        waiting = [data.resources[resource_id] for _, data in self._of(user_id) for resource_id in data.unlearned]
        return sorted(waiting, key=lambda resource: resource.sequence)[: max(limit, 0)]

    @override
    async def outbox(self, *, limit: int, user_id: str | None = None) -> list[OutboxEntry]:
        entries = [
            OutboxEntry(sequence=sequence, user_id=user, collection=collection, item_id=item_id)
            for user, data in self._of(user_id)
            for (collection, item_id), sequence in data.outbox.items()
        ]
        return sorted(entries, key=lambda entry: entry.sequence)[: max(limit, 0)]

    @override
    async def acknowledge(self, entries: Sequence[OutboxEntry]) -> None:
        async with self._write_lock:
            for entry in entries:
                data = self._users.get(entry.user_id, UserData()).copy()
                if data.outbox.get((entry.collection, entry.item_id)) == entry.sequence:
                    del data.outbox[entry.collection, entry.item_id]
                    self._users[entry.user_id] = data

    @override
    async def requeue(self, collection: Collection, item_ids: Sequence[str], *, user_id: str) -> None:
        check_user(user_id)
        async with self._write_lock:
            data = self._users.get(user_id, UserData()).copy()
            data.queue(collection, item_ids, self._numbers)
            self._users[user_id] = data

    @override
    async def users(self, *, after: str | None = None, limit: int) -> list[str]:
        found = sorted(user for user, data in self._users.items() if data.has_records)
        return [user for user in found if after is None or user > after][: max(limit, 0)]

    @override
    async def owners(self, memory_id: str) -> list[str]:
        return sorted(user for user, data in self._users.items() if memory_id in data.memories)

    @override
    async def pending_sources(self, *, limit: int) -> list[SourceVersion]:
        versions = [version for data in self._users.values() for version in data.source_versions.values()]
        waiting = [version for version in versions if version.state is SourceState.PENDING]
        return sorted(waiting, key=lambda version: version.place)[: max(limit, 0)]

    @override
    async def counts(self) -> Mapping[str, int]:
        users = self._users.values()
        return {
            "resources": sum(len(data.resources) for data in users),
            "unlearned": sum(len(data.unlearned) for data in users),
            "entities": sum(len(data.entities) for data in users),
            "preloaded": sum(entity.is_unseen_seed for data in users for entity in data.entities.values()),
            "relations": sum(len(data.relations) for data in users),
            "memories": sum(len(data.memories) for data in users),
            "facts": sum(len(data.facts) for data in users),
            "corpora": sum(len(data.corpora) for data in users),
            "knowledge": sum(len(data.knowledge) for data in users),
            "outbox": sum(len(data.outbox) for data in users),
            "users": count_users(user for user, data in self._users.items() if data.has_records),
            "size_bytes": 0,
        }

    @override
    async def fact_totals(self) -> list[FactTotal]:
        groups: dict[tuple[FactStatus, str], list[float]] = defaultdict(list)
        for data in self._users.values():
            for fact in data.facts.values():
                groups[fact.status, fact.category].append(fact.confidence)
        return [
            FactTotal(status, category, len(confidences), fmean(confidences))
            for (status, category), confidences in groups.items()
        ]

    def _of(self, user_id: str | None) -> list[tuple[str, UserData]]:
        if user_id is None:
            return list(self._users.items())
        return [(user_id, self._users.get(check_user(user_id), UserData()))]
