"""`jiyi job`: what a person sees, and what a script can rely on."""

from typing import Any

import pytest
from typer.testing import CliRunner

from jiyi import cli
from jiyi.commands.operations import runs
from memory.maintenance.reports import FactCounts, MaintenanceReport
from tests.jiyi.commands.test_review import Service


def _run(state: str = "done", *, error: str | None = None, **output: Any) -> dict[str, Any]:
    return {
        "run_id": "r1",
        "pipeline": "facts_weekly",
        "state": state,
        "input": {"user_id": None, "scheduled": False},
        "output": MaintenanceReport(**output).model_dump(mode="json"),
        "total": 2,
        "done": 2,
        "error": error,
        "started_at": "2026-03-08T03:00:00Z",
        "updated_at": "2026-03-08T03:00:00Z",
    }


@pytest.fixture(autouse=True)
def _wide_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_POLL_S", 0.001)
    monkeypatch.setattr(cli._console, "_width", 160)


def test_it_follows_the_run_and_shows_counts_before_and_after() -> None:
    done = _run(decayed=41, archived=7, before=FactCounts(active=99, confidence=0.5), after=FactCounts(active=92))
    with Service(_run("running"), _run("running"), done) as service:
        result = CliRunner().invoke(cli.app, ["job", "weekly", "--user", "ann", "--url", service.url])
    assert result.exit_code == 0, result.output
    assert service.asked == [{"user_id": "ann"}]
    for words in ("weekly done, 2 of 2 users", "decayed", "41", "before", "99", "0.500", "after", "92"):
        assert words in result.output


def test_a_run_that_failed_is_exit_code_1_with_its_reason() -> None:
    with Service(_run("running"), _run("failed", error="The record is away.")) as service:
        result = CliRunner().invoke(cli.app, ["job", "weekly", "--url", service.url])
    assert result.exit_code == 1
    assert "The record is away." in result.output


def test_another_job_is_no_job() -> None:
    assert CliRunner().invoke(cli.app, ["job", "yearly"]).exit_code == 2
