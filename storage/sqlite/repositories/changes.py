"""The log of changes in SQLite, with a table of what each one is about."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.stores.repositories import ChangeLog, Changes
from memory.values.governance.changes import Change, ChangeKind

from ...shared.checks import check_aware, check_owner
from ..engine.transaction import SqliteRepository

_LAST_SEQUENCE = 2**63 - 1
_APPEND = """
    INSERT INTO changes (user_id, change_id, kind, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (user_id, change_id) DO NOTHING RETURNING sequence
"""
ADD_SUBJECT = "INSERT OR IGNORE INTO change_subjects (user_id, subject, sequence) VALUES (?, ?, ?)"
_BY_ID = "SELECT change_id, sequence, body FROM changes WHERE user_id = ? AND change_id IN ({})"
_LATEST = """
    SELECT sequence, body FROM changes
    WHERE user_id = ?1 AND sequence < ?2 AND (?3 IS NULL OR kind = ?3)
    ORDER BY sequence DESC LIMIT ?4
"""
_PAGE = "SELECT sequence, body FROM changes WHERE user_id = ? AND sequence > ? ORDER BY sequence LIMIT ?"
_LATEST_ABOUT = """
    SELECT changes.sequence, changes.body FROM change_subjects
    JOIN changes ON changes.sequence = change_subjects.sequence AND changes.user_id = change_subjects.user_id
    WHERE change_subjects.user_id = ?1 AND change_subjects.sequence < ?2 AND (?3 IS NULL OR changes.kind = ?3)
    AND change_subjects.subject = ?5
    ORDER BY change_subjects.sequence DESC LIMIT ?4
"""
REPLACE = "UPDATE changes SET body = ? WHERE user_id = ? AND change_id = ?"


class SqliteChanges(SqliteRepository, ChangeLog):
    """The changes to one user's memory."""

    @override
    async def append(self, changes: Sequence[Change]) -> None:
        check_owner(changes, self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            for change in changes:
                row = (self._user_id, change.change_id, change.kind.value, body_of(change))
                added = connection.execute(_APPEND, row).fetchall()
                for (sequence,) in added:
                    about = ((self._user_id, subject, sequence) for subject in change.subjects)
                    connection.executemany(ADD_SUBJECT, about)

        await self._transaction.write(work)

    @override
    async def get(self, change_ids: Sequence[str]) -> Changes:
        return await self._transaction.read(lambda connection: self._by_id(connection, change_ids))

    @override
    async def list(
        self,
        *,
        limit: int = 100,
        before: int | None = None,
        subject: str | None = None,
        kind: ChangeKind | None = None,
    ) -> Changes:
        end = _LAST_SEQUENCE if before is None else min(before, _LAST_SEQUENCE)
        common = (self._user_id, end, None if kind is None else kind.value, max(limit, 0))
        statement = _LATEST if subject is None else _LATEST_ABOUT
        parameters = common if subject is None else (*common, subject)

        def work(connection: sqlite3.Connection) -> Changes:
            return [_change(*row) for row in connection.execute(statement, parameters)]

        return await self._transaction.read(work)

    @override
    async def page(self, *, after: int | None = None, limit: int) -> Changes:
        return [_change(*row) for row in await self._rows(_PAGE, after or 0, max(limit, 0))]

    @override
    async def mark_undone(self, change_id: str, *, at: datetime | None) -> bool:
        if at is not None:
            check_aware(at, "at")

        def work(connection: sqlite3.Connection) -> bool:
            found = self._by_id(connection, [change_id])
            for change in found:
                body = body_of(change.model_copy(update={"undone_at": at}))
                connection.execute(REPLACE, (body, self._user_id, change_id))
            return bool(found)

        return await self._transaction.write(work)

    def _by_id(self, connection: sqlite3.Connection, change_ids: Sequence[str]) -> Changes:
        rows = self._select(connection, _BY_ID, change_ids)
        found = {change_id: _change(int(sequence), body) for change_id, sequence, body in rows}
        return [found[change_id] for change_id in change_ids if change_id in found]


def body_of(change: Change) -> str:
    """The change as a row has it."""
    return change.model_dump_json(exclude={"sequence"})


def _change(sequence: int, body: str) -> Change:
    return Change.model_validate_json(body).model_copy(update={"sequence": sequence})
