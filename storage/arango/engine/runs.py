"""The documents of runs in ArangoDB, and how those of earlier versions get what runs are found by."""

from arango.database import StandardDatabase

from memory.ports.jobs import PipelineRun

from ...shared.stored_values import run_columns, stored_run
from . import run_queries as aql
from .client import rows_of
from .keys import Document, ascii_of, key_of, order_of

_AT_ONCE = 500
_DEADLINE_S = 60.0


def run_document(run: PipelineRun) -> Document:
    """The document of a run."""
    return {
        "_key": key_of("", run.run_id),
        "order": order_of(run.run_id),
        "pipeline": ascii_of(run.pipeline),
        "app": ascii_or_none(run.app),
        **run_columns(run),
        "body": stored_run(run),
    }


def ascii_or_none(text: str | None) -> str | None:
    """See `ascii_of`."""
    return None if text is None else ascii_of(text)


def complete_runs(database: StandardDatabase) -> None:
    """Adds state, app and duration to the documents of runs that have none; may be repeated."""
    while bodies := rows_of(database, aql.MIGRATION_OLD_RUNS, {"limit": _AT_ONCE}, deadline_s=_DEADLINE_S):
        runs = [run_document(PipelineRun.model_validate_json(body)) for body in bodies]
        rows_of(database, aql.MIGRATION_ADD_RUNS, {"documents": runs}, deadline_s=_DEADLINE_S)
