"""`jiyi review`: what a person sees, and what a script can rely on."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from typer.testing import CliRunner

from jiyi import cli
from jiyi.commands.operations import runs


def _run(state: str = "done", *, run_id: str = "r1", done: int = 2, error: str | None = None, **output: Any) -> Any:
    return {
        "run_id": run_id,
        "pipeline": "memory_review",
        "state": state,
        "input": {"user_id": None, "dry_run": False, "scheduled": False},
        "output": dict.fromkeys(("users", "checked", "archived", "marked", "kept"), 0) | {"items": []} | output,
        "total": 2,
        "done": done,
        "error": error,
        "started_at": "2026-03-08T02:00:00Z",
        "updated_at": "2026-03-08T02:00:00Z",
    }


ITEM = {
    "user_id": "ann",
    "kind": "entity",
    "item_id": "1",
    "value": "宏康 HCI",
    "verdict": "archive",
    "reason": "低熱度 / rarely used",
}


class Service:
    """An HTTP server that answers each `GET /review/status` with the next state of the script."""

    def __init__(self, begin: Any, *states: Any) -> None:
        self.asked: list[Any] = []
        script = list(states)
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(script.pop(0) if len(script) > 1 else script[0])

            def do_POST(self) -> None:
                service.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self._reply(begin)

            def _reply(self, content: Any) -> None:
                body = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture(autouse=True)
def _wide_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_POLL_S", 0.001)
    monkeypatch.setattr(cli._console, "_width", 160)


def test_it_follows_the_run_to_its_end_and_shows_what_it_did() -> None:
    states = [_run("running", done=1), _run(users=2, checked=7, archived=1, items=[ITEM])]
    with Service(_run("running", done=0), *states) as service:
        result = CliRunner().invoke(cli.app, ["review", "--url", service.url])
    assert result.exit_code == 0, result.output
    assert service.asked == [{"dry_run": False}]
    for words in ("review done, 2 of 2 users", "宏康 HCI", "archive", "what it did"):
        assert words in result.output


def test_one_user_and_a_dry_run_are_passed_on() -> None:
    done = _run(archived=1, items=[ITEM])
    done["input"]["dry_run"] = True
    with Service(done, done) as service:
        result = CliRunner().invoke(cli.app, ["review", "--user", "ann", "--dry-run", "--url", service.url])
    assert service.asked == [{"user_id": "ann", "dry_run": True}]
    assert "would have done" in result.output


def test_a_run_that_failed_is_exit_code_1_with_its_reason() -> None:
    with Service(_run("running"), _run("failed", error="The record is away.")) as service:
        result = CliRunner().invoke(cli.app, ["review", "--url", service.url])
    assert result.exit_code == 1
    assert "The record is away." in result.output


def test_a_run_that_another_has_taken_the_place_of_is_exit_code_1() -> None:
    with Service(_run("running"), _run("running", run_id="other")) as service:
        result = CliRunner().invoke(cli.app, ["review", "--url", service.url])
    assert result.exit_code == 1
    assert "Another review" in result.output
