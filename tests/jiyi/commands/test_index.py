"""`jiyi index`: what a person sees, and what a script can rely on."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deployments.builders.storage.stores import vectors_path
from deployments.config.settings import AppArgs
from jiyi import cli
from jiyi.commands.operations import runs
from memory.ports.stores.vectors import Collection, IndexPoint
from memory.values.vectors import SparseVector
from storage.edge.vectors import EdgeVectors

MEMORIES = Collection.MEMORIES.value


def _run(operation: str, state: str = "done", *, run_id: str = "r1", error: str | None = None, **counts: int) -> Any:
    part = dict.fromkeys(("checked", "missing", "stale", "orphaned", "pending", "mended"), 0) | counts
    return {
        "run_id": run_id,
        "operation": operation,
        "state": state,
        "total": 4,
        "report": {"users": 1, "collections": {MEMORIES: part}},
        "error": error,
        "started_at": "2026-03-02T09:00:00Z",
        "ended_at": None,
    }


class Service:
    """An HTTP server that answers each `GET /index/status` with the next state of the script, and keeps requests."""

    def __init__(self) -> None:
        self.states: list[Any] = []
        self.begin: tuple[int, Any] = (202, _run("verify", "running"))
        self.asked: list[tuple[str, Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(200, service.states.pop(0) if len(service.states) > 1 else service.states[0])

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                service.asked.append((self.path, json.loads(body or b"null")))
                self._reply(*service.begin)

            def _reply(self, status: int, content: Any) -> None:
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/problem+json" if status >= 400 else "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(runs, "_POLL_S", 0.001)
    started = Service()
    yield started
    started.close()


def _jiyi(*words: str) -> Result:
    return CliRunner().invoke(cli.app, ["index", *words])


def test_verify_says_what_is_wrong_how_to_mend_it_and_exits_with_1(service: Service) -> None:
    service.states = [_run("verify", "running", checked=2), _run("verify", checked=4, missing=2, stale=1)]
    done = _jiyi("verify", "--url", service.url)
    assert done.exit_code == 1
    assert service.asked == [("/index/verify", {"mend": False})]
    assert MEMORIES in done.output
    assert "jiyi index verify --mend" in done.output


def test_verify_of_a_sound_index_exits_with_0(service: Service) -> None:
    service.states = [_run("verify", checked=4, pending=1)]
    done = _jiyi("verify", "--url", service.url)
    assert done.exit_code == 0
    assert "--mend" not in done.output


def test_what_was_mended_is_no_reason_to_complain(service: Service) -> None:
    service.begin = (202, _run("mend", "running"))
    service.states = [_run("mend", checked=4, missing=2, mended=2)]
    assert _jiyi("verify", "--mend", "--url", service.url).exit_code == 0
    assert service.asked == [("/index/verify", {"mend": True})]


def test_rebuild_is_followed_to_its_end(service: Service) -> None:
    service.begin = (202, _run("rebuild", "running"))
    service.states = [_run("rebuild", "running", checked=n) for n in range(4)] + [_run("rebuild", checked=4, mended=4)]
    done = _jiyi("rebuild", "--url", service.url)
    assert done.exit_code == 0
    assert "4/4" in done.output


def test_a_run_that_failed_says_why_and_exits_with_1(service: Service) -> None:
    service.states = [_run("verify", "failed", error="vectors is away")]
    done = _jiyi("verify", "--url", service.url)
    assert done.exit_code == 1
    assert "vectors is away" in done.output


@pytest.mark.parametrize("state", [None, _run("verify", "running", run_id="another")])
def test_a_service_that_was_started_again_meanwhile_is_noticed(service: Service, state: Any) -> None:
    service.states = [_run("verify", "running"), state]
    done = _jiyi("verify", "--url", service.url)
    assert done.exit_code == 1
    assert "meanwhile" in done.output


def test_status_shows_the_last_run_or_that_there_was_none(service: Service) -> None:
    service.states = [None]
    assert "There was no run" in _jiyi("status", "--url", service.url).output
    service.states = [_run("rebuild", checked=4, mended=4)]
    assert MEMORIES in _jiyi("status", "--url", service.url).output


def test_a_second_run_is_refused_with_the_service_s_own_words(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service.begin = (409, {"title": "Conflict", "detail": "the index is being verified or rebuilt already"})
    monkeypatch.setattr("sys.argv", ["jiyi", "index", "rebuild", "--url", service.url])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    assert "already" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["verify", "rebuild", "status"])
def test_without_a_service_the_way_to_start_one_is_said(command: str, tmp_path: Path) -> None:
    done = _jiyi(command, "--home", str(tmp_path))
    assert done.exit_code == 3
    assert "jiyi up" in done.output


@pytest.mark.slow
async def test_discarding_sets_the_files_aside_and_the_next_start_finds_an_empty_index(tmp_path: Path) -> None:
    args = AppArgs(home=tmp_path)
    shard = EdgeVectors.open(vectors_path(args), model_id=args.model, dimension=2)
    vector = np.array([1.0, 0.0], np.float32)
    point = IndexPoint("6a697969-0000-4000-8000-000000000001", vector, SparseVector((), ()), 0.0)
    await shard.upsert(Collection.MEMORIES, [point], user_id="ann")
    await shard.close()
    done = _jiyi("rebuild", "--discard", "--home", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "jiyi up" in done.output
    assert [path for path in (tmp_path / "vectors").iterdir() if MEMORIES in path.name], "nothing is deleted"
    shard = EdgeVectors.open(vectors_path(args), model_id=args.model, dimension=2)
    assert await shard.users(Collection.MEMORIES) == []
    await shard.close()


def test_discarding_is_refused_while_the_service_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jiyi.service.find", lambda _: object())
    done = _jiyi("rebuild", "--discard", "--home", str(tmp_path))
    assert done.exit_code == 1
    assert "jiyi down" in done.output
