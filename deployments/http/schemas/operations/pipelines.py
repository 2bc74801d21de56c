"""Runs of background work as they are shown (004 §11.4)."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, JsonValue

from memory.erasure import requests as erasures
from memory.ports.jobs import PipelineRun, RunPosition, RunStatus, RunTotal
from memory.values.base import Timestamp
from memory.values.errors import InvalidField

from ..users import shown_run

MAX_RUNS = 500
CURSOR = r"^[0-9]{1,20}-.{1,200}$"
_SHOWN_ERROR_CHARACTERS = 300
_CURSOR = re.compile(r"([0-9]{1,20})-(.+)", re.DOTALL)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
_COUNTED = tuple(RunStatus)


class RunSummary(BaseModel):
    """A run in a list.

    `app` is null for the service's own. `alive_until` says until when the process that works on it counts as alive.
    """

    run_id: str
    kind: str
    app: str | None
    status: RunStatus
    done: int
    total: int
    attempts: int
    retry_of: str | None
    cancel_requested: bool
    queued_at: Timestamp | None
    started_at: Timestamp | None
    updated_at: Timestamp
    ended_at: Timestamp | None
    alive_until: Timestamp | None
    duration_s: float | None
    error: str | None

    @classmethod
    def of(cls, run: PipelineRun, *, now: datetime) -> Self:
        """What is shown of a run; `duration_s` of one in progress counts until now."""
        return cls.model_validate(_fields(run, now, error_characters=_SHOWN_ERROR_CHARACTERS))


class RunDetail(RunSummary):
    """A run with all that helps to find out why it failed: `error` is whole, `stack` its traceback."""

    input: dict[str, JsonValue]
    output: dict[str, JsonValue]
    cursor: str | None
    stack: str | None

    @classmethod
    def of(cls, run: PipelineRun, *, now: datetime) -> Self:
        """See `RunSummary.of`."""
        shown = _shown(run)
        whole = {"input": shown.input, "output": shown.output, "cursor": shown.cursor, "stack": shown.stack}
        return cls.model_validate(_fields(run, now) | whole)


class RunList(BaseModel):
    """Runs, latest first; `next` is the `cursor` of the page after."""

    results: tuple[RunSummary, ...]
    next: str | None


class KindTotals(BaseModel):
    """The runs of a kind by status, and how long those took that have ended, in seconds."""

    kind: str
    runs: dict[RunStatus, int]
    mean_s: float | None


class Dashboard(BaseModel):
    """What there is, and how background work is doing."""

    corpora: int
    chunks: int
    runs: dict[RunStatus, int]
    kinds: tuple[KindTotals, ...]
    failures: tuple[RunSummary, ...]


def totals_by_kind(totals: list[RunTotal]) -> tuple[KindTotals, ...]:
    """The totals of each kind, by its name."""
    kinds: dict[str, list[RunTotal]] = {}
    for total in totals:
        kinds.setdefault(erasures.kind_of(total.pipeline), []).append(total)
    return tuple(
        KindTotals(kind=kind, runs=totals_by_status(of_kind), mean_s=_mean_s(of_kind))
        for kind, of_kind in sorted(kinds.items())
    )


def totals_by_status(totals: list[RunTotal]) -> dict[RunStatus, int]:
    """The number of runs in each status."""
    return {status: sum(total.count for total in totals if total.state.status is status) for status in _COUNTED}


def cursor_of(run: PipelineRun) -> str:
    """The cursor behind a run."""
    return f"{(run.recorded_at - _EPOCH) // _MICROSECOND}-{run.run_id}"


def position_of(cursor: str) -> RunPosition:
    """The place that a cursor names.

    Raises:
        InvalidField: It is none.
    """
    try:
        matched = _CURSOR.fullmatch(cursor)
        if matched is None:
            raise ValueError(cursor)
        return RunPosition(_EPOCH + int(matched[1]) * _MICROSECOND, matched[2])
    except (ValueError, OverflowError) as error:
        raise InvalidField(
            "cursor: it is not that of a page", field="cursor", allowed="`next` of the page before"
        ) from error


def _fields(run: PipelineRun, now: datetime, *, error_characters: int | None = None) -> dict[str, object]:
    shown = _shown(run)
    begun = run.state.status is not RunStatus.QUEUED
    until = run.ended_at if run.state.is_over else now
    error = shown.error
    if error is not None and error_characters is not None and len(error) > error_characters:
        error = f"{error[:error_characters]} …"
    return shown.model_dump(include={*RunSummary.model_fields}) | {
        "kind": erasures.kind_of(run.pipeline),
        "status": run.state.status,
        "started_at": run.started_at if begun else None,
        "duration_s": max(0.0, (until - run.started_at).total_seconds()) if begun and until is not None else None,
        "error": error,
    }


def _shown(run: PipelineRun) -> PipelineRun:
    return shown_run(erasures.shown_run(run).without_secrets())


def _mean_s(totals: list[RunTotal]) -> float | None:
    over = [total for total in totals if total.state.is_over]
    count = sum(total.count for total in over)
    return sum(total.seconds for total in over) / count if count else None


CursorQuery = Annotated[str | None, Query(pattern=CURSOR, description="`next` of the page before.")]
"""The query parameter `cursor`."""
