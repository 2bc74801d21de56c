"""The raw log in memory."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import RawLog, Resources, Strings
from memory.values.records import Resource, ResourceKind

from ...shared.checks import check_aware, check_owner
from .state import InMemoryRepository, existing, in_order


class InMemoryLog(InMemoryRepository, RawLog):
    """The raw log of one user."""

    @override
    async def append(self, resources: Sequence[Resource]) -> None:
        check_owner(resources, self._state.user_id)
        data = self._state.writable
        for resource in resources:
            if resource.resource_id not in data.resources:
                sequence = next(self._state.numbers)
                data.resources[resource.resource_id] = resource.model_copy(update={"sequence": sequence})
                if resource.learn:
                    data.unlearned[resource.resource_id] = None

    @override
    async def get(self, resource_ids: Sequence[str]) -> Resources:
        return existing(self._state.readable.resources, resource_ids)

    @override
    async def session(self, session_id: str, *, limit: int, before: int | None = None) -> Resources:
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if resource.session_id == session_id and (before is None or resource.sequence < before)
        ]
        return found[-limit:] if limit > 0 else []

    @override
    async def list(
        self, *, kind: ResourceKind | None = None, since: datetime | None = None, limit: int = 100
    ) -> Resources:
        since = None if since is None else check_aware(since, "since")
        found = [
            resource
            for resource in self._state.readable.resources.values()
            if kind in (None, resource.kind) and (since is None or resource.created_at >= since)
        ]
        return found[::-1][: max(limit, 0)]

    @override
    async def count(self) -> int:
        return len(self._state.readable.resources)

    @override
    async def page(self, *, after: int | None = None, limit: int) -> Resources:
        return in_order(self._state.readable.resources.values(), after, limit)

    @override
    async def list_unextracted(self, *, after: int | None = None, limit: int = 100) -> Resources:
        data = self._state.readable
        return in_order((data.resources[resource_id] for resource_id in data.unlearned), after, limit)

    @override
    async def mark_learned(self, resource_ids: Sequence[str]) -> Strings:
        unlearned = self._state.writable.unlearned
        learned = [resource_id for resource_id in dict.fromkeys(resource_ids) if resource_id in unlearned]
        for resource_id in learned:
            del unlearned[resource_id]
        return learned

    @override
    async def delete_orphaned(self, *, created_before: datetime) -> int:
        check_aware(created_before, "created_before")
        data = self._state.writable
        learned_from = {memory.resource_id for memory in data.memories.values()}
        used = learned_from | {fact.resource_id for fact in data.facts.values()} | set(data.unlearned)
        orphaned = [
            resource_id
            for resource_id, resource in data.resources.items()
            if resource.created_at < created_before and resource_id not in used
        ]
        for resource_id in orphaned:
            del data.resources[resource_id]
        return len(orphaned)
