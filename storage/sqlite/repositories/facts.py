"""Facts in SQLite, with what they say in the form in parameters it is compared."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby

from typing_extensions import override

from memory.ports.stores.facts import FactRepository, Facts, Strings
from memory.ports.stores.places import Place
from memory.ports.stores.repositories import Access
from memory.ports.stores.vectors import Collection
from memory.values.errors import NotFound
from memory.values.facts import Fact, FactStatus

from ...shared.checks import check_aware, check_owner
from ...shared.names import comparable
from ...shared.stored_values import timestamp_us, with_status
from ..engine.transaction import SqliteRepository, after_clause, enqueue

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
_BY_ID = "SELECT fact_id, body FROM facts WHERE user_id = ? AND fact_id IN ({})"
_CREATE = f"""
    INSERT INTO facts (user_id, fact_id, {", ".join(_COLUMNS)}) VALUES (?, ?{", ?" * len(_COLUMNS)})
    ON CONFLICT (user_id, fact_id) DO NOTHING
"""  # noqa: S608
_UPDATE = f"UPDATE facts SET {', '.join(f'{column} = ?' for column in _COLUMNS)} WHERE user_id = ? AND fact_id = ?"  # noqa: S608
_REPLACE_BODY = "UPDATE facts SET body = ? WHERE user_id = ? AND fact_id = ?"
_LATEST_FIRST = "ORDER BY recorded_us DESC, fact_id"
_DUPLICATES = """
    SELECT subject, predicate, object, body FROM facts
    JOIN (
        SELECT subject, predicate, object FROM facts WHERE user_id = ?1 AND status = ?2
        GROUP BY subject, predicate, object HAVING count(*) > 1
    ) USING (subject, predicate, object)
    WHERE user_id = ?1 AND status = ?2 ORDER BY subject, predicate, object, recorded_us, fact_id
"""


def status_clause(status: FactStatus | None) -> tuple[str, tuple[str, ...]]:
    """The condition that a fact has this status, where one is asked for, and its parameter."""
    return ("", ()) if status is None else (" AND status = ?", (status.value,))


class SqliteFacts(SqliteRepository, FactRepository):
    """The facts of one user."""

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
            enqueue(connection, self._user_id, Collection.FACTS, added)
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
        check_aware(now, "now")

        def work(connection: sqlite3.Connection) -> bool:
            found = self._by_id(connection, [fact_id])
            for fact in found:
                self._replace(connection, with_status(fact, status, now=now))
            return bool(found)

        return await self._transaction.write(work)

    @override
    async def count_accesses(self, accesses: Sequence[Access]) -> None:
        await self._count_accesses(Fact, _BY_ID, _REPLACE_BODY, accesses)

    @override
    async def list(
        self,
        *,
        category: str | None = None,
        status: FactStatus | None = FactStatus.ACTIVE,
        behind: Place | None = None,
        limit: int = 100,
    ) -> Facts:
        where, parameters = _filter(category, status)
        after, place = _behind(behind)
        return await self._facts(f"{where}{after} {_LATEST_FIRST} LIMIT ?", *parameters, *place, max(limit, 0))

    @override
    async def page(self, *, after: str | None = None, limit: int) -> Facts:
        where, start = after_clause("fact_id", after)
        return await self._facts(f"{where} ORDER BY fact_id LIMIT ?", *start, max(limit, 0))

    @override
    async def count(self, *, category: str | None = None, status: FactStatus | None = FactStatus.ACTIVE) -> int:
        where, parameters = _filter(category, status)
        return await self._count(f"SELECT count(*) FROM facts WHERE user_id = ?{where}", *parameters)  # noqa: S608

    @override
    async def find_potential_conflicts(self, subject: str, predicate: str, *, exclude_id: str | None = None) -> Facts:
        where = f" AND status = ? AND subject = ? AND predicate = ? AND fact_id IS NOT ? {_LATEST_FIRST}"
        names = (comparable(subject), comparable(predicate))
        return await self._facts(where, FactStatus.ACTIVE.value, *names, exclude_id)

    @override
    async def history(self, subject: str, predicate: str, *, limit: int | None = None) -> Facts:
        where = f" AND subject = ? AND predicate = ? AND status != ? {_LATEST_FIRST} LIMIT ?"
        names = (comparable(subject), comparable(predicate))
        return await self._facts(where, *names, FactStatus.DELETED.value, -1 if limit is None else max(limit, 0))

    @override
    async def stating(self, subject: str, predicate: str, objects: Sequence[str]) -> Facts:
        same = "subject = ? AND predicate = ? AND object IN (SELECT value FROM json_each(?))"
        where = f" AND status IN (?, ?) AND {same} {_LATEST_FIRST}"
        statuses = (FactStatus.ACTIVE.value, FactStatus.ARCHIVED.value)
        names = json.dumps([comparable(name) for name in objects])
        return await self._facts(where, *statuses, comparable(subject), comparable(predicate), names)

    @override
    async def stated_in(self, resource_ids: Sequence[str]) -> Facts:
        where = f" AND resource_id IN (SELECT value FROM json_each(?)) AND status != ? {_LATEST_FIRST}"  # noqa: S608
        return await self._facts(where, json.dumps(list(resource_ids)), FactStatus.DELETED.value)

    @override
    async def list_duplicates(self) -> Sequence[tuple[Fact, ...]]:
        def work(connection: sqlite3.Connection) -> Sequence[tuple[Fact, ...]]:
            rows = connection.execute(_DUPLICATES, (self._user_id, FactStatus.ACTIVE.value))
            groups = groupby(rows, key=lambda row: row[:3])
            found = [tuple(Fact.model_validate_json(row[3]) for row in group) for _, group in groups]
            return sorted(found, key=lambda group: group[0].fact_id)

        return await self._transaction.read(work)

    @override
    async def list_distinct_categories(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return await self._strings("DISTINCT category", status, "category")

    @override
    async def list_old_low_confidence(self, *, recorded_before: datetime, below: float) -> Facts:
        where = f" AND status = ? AND recorded_us < ? AND confidence < ? {_LATEST_FIRST}"
        before = timestamp_us(check_aware(recorded_before, "recorded_before"))
        return await self._facts(where, FactStatus.ACTIVE.value, before, below)

    @override
    async def get_stats_by_status(self) -> Mapping[FactStatus, int]:
        counts = dict(await self._rows("SELECT status, count(*) FROM facts WHERE user_id = ? GROUP BY status"))
        return {status: counts.get(status.value, 0) for status in FactStatus}

    @override
    async def get_avg_confidence(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> float | None:
        where, parameters = status_clause(status)
        rows = await self._rows(f"SELECT avg(confidence) FROM facts WHERE user_id = ?{where}", *parameters)  # noqa: S608
        mean: float | None = rows[0][0]
        return mean

    @override
    async def list_all_ids(self, *, status: FactStatus | None = FactStatus.ACTIVE) -> Strings:
        return await self._strings("fact_id", status, "fact_id")

    def _replace(self, connection: sqlite3.Connection, fact: Fact) -> None:
        if not connection.execute(_UPDATE, (*_row(fact), self._user_id, fact.fact_id)).rowcount:
            raise NotFound(f"There is no fact {fact.fact_id!r}.")
        enqueue(connection, self._user_id, Collection.FACTS, [fact.fact_id])

    def _by_id(self, connection: sqlite3.Connection, fact_ids: Sequence[str]) -> Facts:
        return self._select_values(connection, Fact, _BY_ID, fact_ids)

    async def _facts(self, where: str, *parameters: object) -> Facts:
        return await self._values(Fact, f"SELECT body FROM facts WHERE user_id = ?{where}", *parameters)  # noqa: S608

    async def _strings(self, columns: str, status: FactStatus | None, order: str) -> Strings:
        where, parameters = status_clause(status)
        statement = f"SELECT {columns} FROM facts WHERE user_id = ?{where} ORDER BY {order}"  # noqa: S608
        return [value for (value,) in await self._rows(statement, *parameters)]


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
        timestamp_us(fact.recorded_at),
        fact.model_dump_json(),
    )


def _filter(category: str | None, status: FactStatus | None) -> tuple[str, tuple[str, ...]]:
    where, parameters = status_clause(status)
    return (where, parameters) if category is None else (f"{where} AND category = ?", (*parameters, category))


def _behind(place: Place | None) -> tuple[str, tuple[object, ...]]:
    if place is None:
        return "", ()
    recorded_us, fact_id = timestamp_us(check_aware(place[0], "behind")), place[1]
    return " AND (recorded_us < ? OR recorded_us = ? AND fact_id > ?)", (recorded_us, recorded_us, fact_id)
