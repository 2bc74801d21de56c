"""Runs of jobs in SQLite."""

import sqlite3

from typing_extensions import override

from memory.ports.jobs import PipelineRun, RunLog

from ..shared.timestamps import microseconds
from .engine.connections import LanePool

_SAVE = """
    INSERT INTO runs (run_id, pipeline, started_us, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (run_id) DO UPDATE SET
    pipeline = excluded.pipeline, started_us = excluded.started_us, body = excluded.body
"""
_LATEST = "SELECT body FROM runs WHERE pipeline = ? ORDER BY started_us DESC, run_id DESC LIMIT ?"


class SqliteRuns(RunLog):
    """Runs of all jobs, each write a transaction of its own.

    Args:
        reader: Where it reads.
        writer: Where it writes, in turn with units of work.
    """

    def __init__(self, *, reader: LanePool, writer: LanePool) -> None:
        self._reader = reader
        self._writer = writer

    @override
    async def save(self, run: PipelineRun) -> None:
        row = (run.run_id, run.pipeline, microseconds(run.started_at), run.model_dump_json())

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_SAVE, row)

        async with self._writer.lane() as lane:
            await lane.run(work)
            await lane.commit()

    @override
    async def latest(self, pipeline: str, *, limit: int = 1) -> list[PipelineRun]:
        def work(connection: sqlite3.Connection) -> list[PipelineRun]:
            rows = connection.execute(_LATEST, (pipeline, max(limit, 0)))
            return [PipelineRun.model_validate_json(body) for (body,) in rows]

        async with self._reader.lane() as lane:
            return await lane.run(work)
