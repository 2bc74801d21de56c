"""The log of changes in ArangoDB."""

from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import ChangeLog, Changes
from memory.values.governance.changes import Change, ChangeKind

from ...shared.checks import check_aware, check_owner
from ..engine import documents
from ..engine import queries as aql
from ..engine.documents import ArangoRepository
from ..engine.keys import Document, key_of
from ..engine.transaction import Query

_COLLECTION = "changes"
_AFTER_ALL = 2**53


class ArangoChanges(ArangoRepository, ChangeLog):
    """The changes to one user's memory; `sequence` is about the time of writing in microseconds."""

    @override
    async def append(self, changes: Sequence[Change]) -> None:
        check_owner(changes, self._user_id)
        first: dict[str, Change] = {}
        for change in changes:
            first.setdefault(key_of(self._user_id, change.change_id), change)

        def work(query: Query) -> None:
            stored = documents.existing(query, _COLLECTION, first)
            added = [
                change.model_copy(update={"sequence": self._transaction.next_sequence(query)})
                for key, change in first.items()
                if key not in stored
            ]
            self._put(query, added)
            documents.put(
                query,
                "change_subjects",
                [subject for change in added for subject in subject_documents(self._user_id, change)],
            )

        await self._transaction.write(work)

    @override
    async def get(self, change_ids: Sequence[str]) -> Changes:
        return await self._transaction.read(lambda query: self._by_id(query, change_ids))

    @override
    async def list(
        self,
        *,
        limit: int = 100,
        before: int | None = None,
        subject: str | None = None,
        kind: ChangeKind | None = None,
    ) -> Changes:
        conditions = {
            "before": _AFTER_ALL if before is None else min(before, _AFTER_ALL),
            "kind": None if kind is None else kind.value,
            "limit": max(limit, 0),
        }
        statement = aql.CHANGES
        if subject is not None:
            statement = aql.CHANGES_ABOUT
            conditions["subject"] = key_of(self._user_id, subject)
        return await self._values(Change, statement, **conditions)

    @override
    async def page(self, *, after: int | None = None, limit: int) -> Changes:
        return await self._values(Change, aql.CHANGES_PAGE, after=after, limit=max(limit, 0))

    @override
    async def mark_undone(self, change_id: str, *, at: datetime | None) -> bool:
        if at is not None:
            check_aware(at, "at")

        def work(query: Query) -> bool:
            found = self._by_id(query, [change_id])
            self._put(query, [change.model_copy(update={"undone_at": at}) for change in found])
            return bool(found)

        return await self._transaction.write(work)

    def _by_id(self, query: Query, change_ids: Sequence[str]) -> Changes:
        return documents.by_id(query, _COLLECTION, Change, self._user_id, change_ids)

    def _put(self, query: Query, changes: Sequence[Change]) -> None:
        documents.put(query, _COLLECTION, [change_document(self._user_id, change) for change in changes])


def change_document(user_id: str, change: Change) -> Document:
    """The document of a change."""
    return {
        "_key": key_of(user_id, change.change_id),
        "sequence": change.sequence,
        "kind": change.kind.value,
        "body": change.model_dump_json(),
    }


def subject_documents(user_id: str, change: Change) -> list[Document]:
    """What a change is found by."""
    return [
        {
            "_key": key_of(user_id, change.change_id, subject),
            "subject": key_of(user_id, subject),
            "change": key_of(user_id, change.change_id),
            "sequence": change.sequence,
        }
        for subject in change.subjects
    ]
