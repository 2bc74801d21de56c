"""Erasing in memory."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.erasures import RecordErasure
from memory.ports.jobs import PipelineRun
from memory.ports.stores.vectors import Collection
from memory.values.governance.changes import Change
from memory.values.records import Resource

from ...shared.checks import check_owner
from .state import InMemoryRepository, delete_by_id


class InMemoryErasure(InMemoryRepository, RecordErasure):
    """Deletes and rewrites what otherwise is only appended."""

    @override
    async def delete(
        self,
        *,
        messages: Sequence[str] = (),
        facts: Sequence[str] = (),
        changes: Sequence[str] = (),
        categories: Sequence[str] = (),
    ) -> Mapping[str, int]:
        data = self._state.writable
        names = {data.categories[id_].name for id_ in categories if id_ in data.categories}
        delete_by_id(data.accesses, [id_ for id_, access in data.accesses.items() if access.category in names])
        delete_by_id(data.unlearned, messages)
        gone_facts = delete_by_id(data.facts, facts)
        self._state.queue(Collection.FACTS, gone_facts)
        return {
            "messages": len(delete_by_id(data.resources, messages)),
            "facts": len(gone_facts),
            "changes": len(delete_by_id(data.changes, changes)),
            "categories": len(delete_by_id(data.categories, categories)),
        }

    @override
    async def rewrite(self, *, messages: Sequence[Resource] = (), changes: Sequence[Change] = ()) -> None:
        check_owner([*messages, *changes], self._state.user_id)
        data = self._state.writable
        for resource in messages:
            if (stored := data.resources.get(resource.resource_id)) is not None:
                data.resources[resource.resource_id] = resource.model_copy(update={"sequence": stored.sequence})
        for change in changes:
            if (kept := data.changes.get(change.change_id)) is not None:
                data.changes[change.change_id] = change.model_copy(update={"sequence": kept.sequence})

    @override
    async def request(self, requests: Sequence[PipelineRun]) -> None:
        self._state.save_runs(requests)
