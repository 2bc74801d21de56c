"""The recorded runs of background jobs, in SQLite."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog, RunQuery, RunState, RunTotal

from ..shared.stored_values import run_columns, stored_run, timestamp_us, with_lease
from .engine.connections import ConnectionPool, run_alone

_COLUMNS = ("run_id", "pipeline", "app", "state", "started_us", "duration_us", "body")
_INSERT = f"""
    INSERT INTO runs ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" for _ in _COLUMNS)}) ON CONFLICT (run_id)
"""  # noqa: S608
_ADD = f"{_INSERT} DO NOTHING"
_SAVE = f"{_INSERT} DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
_SELECT = "SELECT body, cancel, lease_us FROM runs"
_FIND = f"{_SELECT} WHERE {{}} ORDER BY started_us DESC, run_id DESC LIMIT ?"
_TOTALS = """
    SELECT pipeline, state, count(*), coalesce(sum(duration_us), 0) / 1e6 FROM runs
    WHERE ?1 IS NULL OR app = ?1 GROUP BY pipeline, state ORDER BY pipeline, state
"""
_LEASE = """
    UPDATE runs SET holder = ?2, lease_us = ?4
    WHERE run_id = ?1 AND (?5 OR holder IS NULL OR holder = ?2 OR lease_us <= ?3)
"""


class SqliteRuns(RunLog):
    """Runs of all jobs, each write a transaction of its own.

    Args:
        reader: The connections that read.
        writer: The connection that units of work write with.
    """

    def __init__(self, *, reader: ConnectionPool, writer: ConnectionPool) -> None:
        self._reader = reader
        self._writer = writer

    @override
    async def save(self, run: PipelineRun) -> None:
        await run_alone(self._writer, lambda connection: save_run(connection, run), commit=True)

    @override
    async def add(self, runs: Sequence[PipelineRun]) -> None:
        await run_alone(self._writer, lambda connection: connection.executemany(_ADD, map(_values, runs)), commit=True)

    @override
    async def get(self, run_id: str) -> PipelineRun | None:
        def work(connection: sqlite3.Connection) -> PipelineRun | None:
            row = connection.execute(f"{_SELECT} WHERE run_id = ?", (run_id,)).fetchone()
            return with_lease(*row) if row else None

        return await run_alone(self._reader, work)

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        return await self.find(RunQuery(pipelines=[pipeline], limit=limit), app=None)

    @override
    async def find(self, query: RunQuery, *, app: str | None) -> list[PipelineRun]:
        clauses, values = _filters(query, app)

        def work(connection: sqlite3.Connection) -> list[PipelineRun]:
            rows = connection.execute(_FIND.format(" AND ".join(clauses)), (*values, max(query.limit, 0)))
            return [with_lease(*row) for row in rows]

        return await run_alone(self._reader, work)

    @override
    async def totals(self, *, app: str | None) -> list[RunTotal]:
        def work(connection: sqlite3.Connection) -> list[RunTotal]:
            return [
                RunTotal(pipeline=pipeline, state=RunState(state), count=count, seconds=seconds)
                for pipeline, state, count, seconds in connection.execute(_TOTALS, (app,))
            ]

        return await run_alone(self._reader, work)

    @override
    async def lease(
        self, run_id: str, *, holder: str, now: datetime, until: datetime, take_over: bool = False
    ) -> bool | None:
        values = (run_id, holder, timestamp_us(now), timestamp_us(until), take_over)

        def work(connection: sqlite3.Connection) -> bool | None:
            if not connection.execute(_LEASE, values).rowcount:
                return None
            return bool(connection.execute("SELECT cancel FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0])

        return await run_alone(self._writer, work, commit=True)

    @override
    async def request_cancel(self, run_id: str) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE runs SET cancel = 1 WHERE run_id = ?", (run_id,))

        await run_alone(self._writer, work, commit=True)

    @override
    async def delete(self, run_ids: Sequence[str]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.executemany("DELETE FROM runs WHERE run_id = ?", [(run_id,) for run_id in run_ids])

        await run_alone(self._writer, work, commit=True)


def save_run(connection: sqlite3.Connection, run: PipelineRun) -> None:
    """Inserts or replaces a run."""
    connection.execute(_SAVE, _values(run))


def _values(run: PipelineRun) -> list[object]:
    columns = run_columns(run) | {"run_id": run.run_id, "pipeline": run.pipeline, "app": run.app}
    columns["body"] = stored_run(run)
    return [columns[name] for name in _COLUMNS]


def _filters(query: RunQuery, app: str | None) -> tuple[list[str], list[object]]:
    """Conditions, and the values of their placeholders."""
    clauses: list[str] = ["1"]
    values: list[object] = []

    def add(clause: str, *given: object) -> None:
        clauses.append(clause)
        values.extend(given)

    def add_any(column: str, allowed: Iterable[str]) -> None:
        listed = list(allowed)
        add(f"{column} IN ({', '.join('?' for _ in listed)})", *listed)

    if app is not None:
        add("app = ?", app)
    if query.pipelines is not None:
        add_any("pipeline", query.pipelines)
    if query.states is not None:
        add_any("state", (state.value for state in query.states))
    if query.since is not None:
        add("started_us >= ?", timestamp_us(query.since))
    if query.until is not None:
        add("started_us < ?", timestamp_us(query.until))
    if query.after is not None:
        add("(started_us, run_id) < (?, ?)", timestamp_us(query.after.recorded_at), query.after.run_id)
    return clauses, values
