"""`jiyi jobs`: runs as a table and as JSON, followed to their end, retried and cancelled."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from jiyi.cli import app
from jiyi.client.resources.operations import Runs
from jiyi.commands.operations import jobs
from tests.jiyi.answering import OnePage, answering

URL = ["--url", "http://x"]


def run(status: str = "failed", **fields: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "run_id": "r1",
        "kind": "knowledge_ingestion",
        "app": "shop",
        "status": status,
        "done": 2,
        "total": 5,
        "attempts": 1,
        "retry_of": None,
        "cancel_requested": False,
        "queued_at": "2026-03-01T12:00:00Z",
        "started_at": "2026-03-01T12:00:01Z",
        "ended_at": None,
        "duration_s": 3.25,
        "error": "the embedder is away",
        "input": {"source_uri": "手冊.pdf"},
        "output": {"chunks": 7},
        "stack": "Traceback\n  in embed",
    }
    return shown | fields


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no cell is folded."""
    monkeypatch.setattr(jobs, "_console", Console(width=200))


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["jobs", *arguments, *URL])
    return result.exit_code, result.output


def test_a_list_is_a_table_with_the_command_for_the_next_page(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []
    page = OnePage({"results": [run(), run("running", app=None, cancel_requested=True)], "next": "12-r1"})
    answering(monkeypatch, Runs, "list", lambda **_: page, asked)
    code, output = call("list", "--kind", "export", "--kind", "import", "--status", "failed", "--limit", "2")
    assert code == 0
    assert asked == [("list", ({"kind": ["export", "import"], "status": ["failed"], "limit": 2},))]
    for shown in (
        "knowledge_ingestion",
        "shop",
        "service",
        "failed",
        "running (stops)",
        "2/5",
        "3.2",
        "--cursor 12-r1",
    ):
        assert shown in output
    code, output = call("list", "--json")
    assert json.loads(output)["results"][0]["run_id"] == "r1"


@pytest.mark.parametrize(("command", "method"), [("show", "get"), ("retry", "retry"), ("cancel", "cancel")])
def test_a_run_is_shown_with_all_that_helps_to_debug_it(
    monkeypatch: pytest.MonkeyPatch, command: str, method: str
) -> None:
    answering(monkeypatch, Runs, method, lambda run_id: run(run_id=run_id), [])
    code, output = call(command, "r7")
    assert code == 0
    for shown in ("r7", "手冊.pdf", "chunks", "the embedder is away", "in embed"):
        assert shown in output
    assert json.loads(call(command, "r7", "--json")[1])["stack"] == "Traceback\n  in embed"


@pytest.mark.parametrize(("status", "code"), [("completed", 0), ("failed", 1), ("cancelled", 1)])
def test_a_run_is_followed_to_its_end(monkeypatch: pytest.MonkeyPatch, status: str, code: int) -> None:
    events = [("state", run("running", done=0)), ("end", run(status, done=5))]
    shown = [SimpleNamespace(name=name, run=state) for name, state in events]
    answering(monkeypatch, Runs, "follow", lambda _: shown, [])
    exit_code, output = call("follow", "r1")
    assert (exit_code, "5 of 5" in output) == (code, True)
    exit_code, output = call("follow", "r1", "--json")
    assert (exit_code, [json.loads(line)["event"] for line in output.splitlines()]) == (code, ["state", "end"])
