"""Facts in SQLite, with what they say in the form in which it is compared."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

from typing_extensions import override

from memory.ports.facts import FactRepository, Facts, Strings
from memory.ports.vectors import Collection
from memory.values.errors import NotFound
from memory.values.facts import Fact, FactStatus

from ...shared.changes import with_status
from ...shared.checks import check_moment, check_owner
from ...shared.names import comparable
from ...shared.timestamps import microseconds
from ..engine.outbox import queue
from ..engine.transaction import Transaction, after_clause, select_by_id

_COLUMNS = (
    "resource_id",
    "subject",
    "predicate",
    "object",
    "category",
    "confidence",
    "status",
    "supersedes",
    "recorded_us",
    "body",
)
_CREATE = f"""
    INSERT INTO facts (user_id, fact_id, {", ".join(_COLUMNS)}) VALUES (?, ?{", ?" * len(_COLUMNS)})
    ON CONFLICT (user_id, fact_id) DO NOTHING
"""  # noqa: S608
_UPDATE = f"UPDATE facts SET {', '.join(f'{column} = ?' for column in _COLUMNS)} WHERE user_id = ? AND fact_id = ?"  # noqa: S608
_LATEST_FIRST = "ORDER BY recorded_us DESC, fact_id"
_DUPLICATES = """
    SELECT subject, predicate, object, body FROM facts
    JOIN (
        SELECT subject, predicate, object FROM facts WHERE user_id = ?1 AND status = ?2
        GROUP BY subject, predicate, object HAVING count(*) > 1
    ) USING (subject, predicate, object)
    WHERE user_id = ?1 AND status = ?2 ORDER BY subject, predicate, object, recorded_us, fact_id
"""
_RECENT_OF_SUBJECT = """
    SELECT count(*) FROM facts WHERE user_id = ? AND status = ? AND subject = ? AND recorded_us >= ?
"""


def status_clause(status: FactStatus | None) -> tuple[str, tuple[str, ...]]:
    """The condition that a fact has this status, where one is asked for, and its parameter."""
    return ("", ()) if status is None else (" AND status = ?", (status.value,))


class SqliteFacts(FactRepository):
    """The facts of one user."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._user_id = transaction.user_id

    @override
    async def get(self, fact_id: str) -> Fact | None:
        return next(iter(await self.get_many([fact_id])), None)

    @override
    async def get_many(self, fact_ids: Sequence[str]) -> Facts:
        return await self._transaction.read(lambda connection: self._by_id(connection, fact_ids))

    @override
    async def create_many(self, facts: Sequence[Fact]) -> Strings:
        check_owner(facts, self._user_id)

        def work(connection: sqlite3.Connection) -> Strings:
            added = [
                fact.fact_id
                for fact in facts
                if connection.execute(_CREATE, (self._user_id, fact.fact_id, *_row(fact))).rowcount
            ]
            queue(connection, self._user_id, Collection.FACTS, added)
            return [fact.fact_id for fact in facts]

        return await self._transaction.write(work)

    @override
    async def update(self, fact: Fact) -> None:
        check_owner([fact], self._user_id)

        def work(connection: sqlite3.Connection) -> None:
            self._replace(connection, fact)

        await self._transaction.write(work)

    @override
    async def update_status(self, fact_id: str, status: FactStatus, *, now: datetime) -> bool:
        check_moment(now, "now")

        def work(connection: sqlite3.Connection) -> bool:
            found = self._by_id(connection, [fact_id])
            for fact in found:
                self._replace(connection, with_status(fact, status, now=now))
            return bool(found)

        return await self._transaction.write(work)

    @override
    async def list(
        self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE, limit: int = 100
    ) -> Facts:
        where, which = _filter(category, status)
        return await self._facts(f"{where} {_LATEST_FIRST} LIMIT ?", *which, max(limit, 0))

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Facts:
        where, start = after_clause("fact_id", after)
        return await self._facts(f"{where} ORDER BY fact_id LIMIT ?", *start, max(limit, 0))

    @override
    async def count(self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE) -> int:
        where, which = _filter(category, status)
        return await self._transaction.count(f"SELECT count(*) FROM facts WHERE user_id = ?{where}", *which)  # noqa: S608

    @override
    async def find_potential_conflicts(self, subject: str, predicate: str, *, exclude_id: str | None = None) -> Facts:
        where = f" AND status = ? AND subject = ? AND predicate = ? AND fact_id IS NOT ? {_LATEST_FIRST}"
        names = (comparable(subject), comparable(predicate))
        return await self._facts(where, FactStatus.ACTIVE.value, *names, exclude_id)

    @override
    async def list_duplicates(self) -> Sequence[tuple[Fact, ...]]:
        def work(connection: sqlite3.Connection) -> Sequence[tuple[Fact, ...]]:
            rows = connection.execute(_DUPLICATES, (self._user_id, FactStatus.ACTIVE.value))
            groups = groupby(rows, key=lambda row: row[:3])
            found = [tuple(Fact.model_validate_json(row[3]) for row in group) for _, group in groups]
            return sorted(found, key=lambda group: group[0].fact_id)

        return await self._transaction.read(work)

    @override
    async def count_by_subject_recent(self, subject: str, *, since: datetime) -> int:
        first = microseconds(check_moment(since, "since"))
        return await self._transaction.count(_RECENT_OF_SUBJECT, FactStatus.ACTIVE.value, comparable(subject), first)

    @override
    async def list_distinct_categories(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return await self._strings("DISTINCT category", status, "category")

    @override
    async def list_old_low_confidence(self, *, recorded_before: datetime, below: float) -> Facts:
        where = f" AND status = ? AND recorded_us < ? AND confidence < ? {_LATEST_FIRST}"
        before = microseconds(check_moment(recorded_before, "recorded_before"))
        return await self._facts(where, FactStatus.ACTIVE.value, before, below)

    @override
    async def get_stats_by_status(self) -> Mapping[FactStatus, int]:
        def work(connection: sqlite3.Connection) -> dict[FactStatus, int]:
            statement = "SELECT status, count(*) FROM facts WHERE user_id = ? GROUP BY status"
            found = dict(connection.execute(statement, (self._user_id,)).fetchall())
            return {status: found.get(status.value, 0) for status in FactStatus}

        return await self._transaction.read(work)

    @override
    async def get_avg_confidence(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> float | None:
        where, which = status_clause(status)
        statement = f"SELECT avg(confidence) FROM facts WHERE user_id = ?{where}"  # noqa: S608

        def work(connection: sqlite3.Connection) -> float | None:
            mean: float | None = connection.execute(statement, (self._user_id, *which)).fetchone()[0]
            return mean

        return await self._transaction.read(work)

    @override
    async def list_all_ids(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return await self._strings("fact_id", status, "fact_id")

    @override
    async def get_superseding(self, archived_id: str) -> Fact | None:
        return next(iter(await self._facts(f" AND supersedes = ? {_LATEST_FIRST} LIMIT 1", archived_id)), None)

    def _replace(self, connection: sqlite3.Connection, fact: Fact) -> None:
        if not connection.execute(_UPDATE, (*_row(fact), self._user_id, fact.fact_id)).rowcount:
            raise NotFound(f"There is no fact {fact.fact_id!r}.")
        queue(connection, self._user_id, Collection.FACTS, [fact.fact_id])

    def _by_id(self, connection: sqlite3.Connection, fact_ids: Sequence[str]) -> Facts:
        statement = "SELECT fact_id, body FROM facts WHERE user_id = ? AND fact_id IN ({})"
        rows = select_by_id(connection, statement, self._user_id, fact_ids)
        found = {fact_id: Fact.model_validate_json(body) for fact_id, body in rows}
        return [found[fact_id] for fact_id in fact_ids if fact_id in found]

    async def _facts(self, where: str, *parameters: object) -> Facts:
        statement = f"SELECT body FROM facts WHERE user_id = ?{where}"  # noqa: S608

        def work(connection: sqlite3.Connection) -> Facts:
            rows = connection.execute(statement, (self._user_id, *parameters))
            return [Fact.model_validate_json(body) for (body,) in rows]

        return await self._transaction.read(work)

    async def _strings(self, columns: str, status: FactStatus | None, order: str) -> Strings:
        where, which = status_clause(status)
        statement = f"SELECT {columns} FROM facts WHERE user_id = ?{where} ORDER BY {order}"  # noqa: S608

        def work(connection: sqlite3.Connection) -> Strings:
            return [value for (value,) in connection.execute(statement, (self._user_id, *which))]

        return await self._transaction.read(work)


def _row(fact: Fact) -> tuple[object, ...]:
    return (
        fact.resource_id,
        comparable(fact.subject),
        comparable(fact.predicate),
        comparable(fact.object),
        fact.category,
        fact.confidence,
        fact.status.value,
        fact.supersedes,
        microseconds(fact.recorded_at),
        fact.model_dump_json(),
    )


def _filter(category: str | None, status: FactStatus | None) -> tuple[str, tuple[str, ...]]:
    where, which = status_clause(status)
    return (where, which) if category is None else (f"{where} AND category = ?", (*which, category))
