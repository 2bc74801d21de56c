"""The log of changes in memory."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import ChangeLog, Changes
from memory.values.governance.changes import Change, ChangeKind

from ...shared.checks import check_aware, check_owner
from .state import InMemoryRepository, existing, in_order


class InMemoryChanges(InMemoryRepository, ChangeLog):
    """The changes to one user's memory."""

    @override
    async def append(self, changes: Sequence[Change]) -> None:
        check_owner(changes, self._state.user_id)
        stored = self._state.writable.changes
        for change in changes:
            if change.change_id not in stored:
                stored[change.change_id] = change.model_copy(update={"sequence": next(self._state.numbers)})

    @override
    async def get(self, change_ids: Sequence[str]) -> Changes:
        return existing(self._state.readable.changes, change_ids)

    @override
    async def list(
        self,
        *,
        limit: int = 100,
        before: int | None = None,
        subject: str | None = None,
        kind: ChangeKind | None = None,
    ) -> Changes:
        found = [
            change
            for change in self._state.readable.changes.values()
            if (before is None or change.sequence < before)
            and (subject is None or subject in change.subjects)
            and kind in (None, change.kind)
        ]
        return found[::-1][: max(limit, 0)]

    @override
    async def page(self, *, after: int | None = None, limit: int) -> Changes:
        return in_order(self._state.readable.changes.values(), after, limit)

    @override
    async def mark_undone(self, change_id: str, *, at: datetime | None) -> bool:
        if at is not None:
            check_aware(at, "at")
        changes = self._state.writable.changes
        if change_id in changes:
            changes[change_id] = changes[change_id].model_copy(update={"undone_at": at})
        return change_id in changes
