"""Erasing in SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence

from typing_extensions import override

from memory.ports.erasures import RecordErasure
from memory.ports.jobs import PipelineRun
from memory.ports.stores.vectors import Collection
from memory.values.governance.changes import Change
from memory.values.records import Resource

from ...shared.checks import check_owner
from ..engine.transaction import SqliteRepository, enqueue
from ..runs import save_run
from .changes import ADD_SUBJECT, REPLACE, body_of
from .log import texts_of

_MESSAGE = "DELETE FROM resources WHERE user_id = ? AND resource_id = ?"
_FACT = "DELETE FROM facts WHERE user_id = ? AND fact_id = ?"
_SUBJECTS = """
    DELETE FROM change_subjects WHERE user_id = ?1
    AND sequence = (SELECT sequence FROM changes WHERE user_id = ?1 AND change_id = ?2)
"""
_CHANGE = "DELETE FROM changes WHERE user_id = ? AND change_id = ?"
_ACCESSES = """
    DELETE FROM category_accesses WHERE user_id = ?1
    AND category = (SELECT name FROM categories WHERE user_id = ?1 AND category_id = ?2)
"""
_CATEGORY = "DELETE FROM categories WHERE user_id = ? AND category_id = ?"
_REWRITE_MESSAGE = "UPDATE resources SET body = ?, understanding = ? WHERE user_id = ? AND resource_id = ?"
_SEQUENCE = "SELECT sequence FROM changes WHERE user_id = ? AND change_id = ?"


class SqliteErasure(SqliteRepository, RecordErasure):
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
        def work(connection: sqlite3.Connection) -> dict[str, int]:
            def delete(statement: str, ids: Sequence[str]) -> list[str]:
                return [id_ for id_ in ids if connection.execute(statement, (self._user_id, id_)).rowcount]

            delete(_SUBJECTS, changes)
            delete(_ACCESSES, categories)
            gone_facts = delete(_FACT, facts)
            enqueue(connection, self._user_id, Collection.FACTS, gone_facts)
            return {
                "messages": len(delete(_MESSAGE, messages)),
                "facts": len(gone_facts),
                "changes": len(delete(_CHANGE, changes)),
                "categories": len(delete(_CATEGORY, categories)),
            }

        return await self._transaction.write(work)

    @override
    async def rewrite(self, *, messages: Sequence[Resource] = (), changes: Sequence[Change] = ()) -> None:
        check_owner([*messages, *changes], self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            for resource in messages:
                connection.execute(_REWRITE_MESSAGE, (*texts_of(resource), self._user_id, resource.resource_id))
            for change in changes:
                owned = (self._user_id, change.change_id)
                for (sequence,) in connection.execute(_SEQUENCE, owned).fetchall():
                    connection.execute(_SUBJECTS, owned)
                    about = ((self._user_id, subject, sequence) for subject in change.subjects)
                    connection.executemany(ADD_SUBJECT, about)
                    connection.execute(REPLACE, (body_of(change), *owned))

        await self._transaction.write(work)

    @override
    async def request(self, requests: Sequence[PipelineRun]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            for run in requests:
                save_run(connection, run)

        await self._transaction.write(work)
