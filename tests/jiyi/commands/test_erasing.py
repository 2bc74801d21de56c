"""`jiyi erase`: asks first, waits for the end, and shows the receipt."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from jiyi import cli
from jiyi.client.resources.operations import Erasures
from jiyi.commands.operations import erasing
from tests.jiyi.answering import answering

RECEIPT = {"removed": {"record.resources": 3, "sessions": 0}, "purged": {"vectors": False}, "sha256": "ab12"}


def _erasure(state: str, **fields: Any) -> dict[str, Any]:
    shown = {"erasure_id": "e1", "kind": "user", "state": state, "requested_at": "2026-01-01", "attempts": 1}
    return {**shown, "waits_for": None, "receipt": RECEIPT if state == "done" else None, **fields}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the service was asked; an erasure waits for a store once before it is done."""
    calls: list[tuple[str, Any]] = []
    states = [_erasure("pending", waits_for="vectors"), _erasure("done")]

    monkeypatch.setattr(erasing, "_POLL_S", 0)
    answers: dict[str, Callable[..., Any]] = {
        "erase": lambda **_: _erasure("pending"),
        "get": lambda _: states.pop(0),
        "list": lambda **_: {"results": [_erasure("pending", waits_for="vectors")]},
        "tombstones": lambda: {"tombstones": [{"erasure_id": "e1"}]},
        "replay": lambda _: {"results": [_erasure("done")]},
    }
    for name, answer in answers.items():
        asked_of = calls if name in ("erase", "replay") else []
        answering(monkeypatch, Erasures, name, answer, asked_of)
    return calls


def _run(*words: str, answer: str = "") -> str:
    return CliRunner().invoke(cli.app, ["erase", *words, "--url", "http://127.0.0.1:1"], input=answer).output


def test_it_asks_before_it_erases(asked: list[tuple[str, Any]]) -> None:
    assert "cannot be undone" in _run("user", "ada", answer="n\n")
    assert asked == []


def test_it_waits_and_shows_what_was_removed(asked: list[tuple[str, Any]]) -> None:
    shown = _run("user", "ada", "--yes")
    assert asked == [("erase", ({"user_id": "ada", "kind": "user"},))]
    assert all(words in shown for words in ("e1: done", "record.resources", "ab12", "in time: vectors"))
    assert "sessions" not in shown


@pytest.mark.parametrize(
    ("words", "scope"),
    [
        (["session", "ada", "s-1"], {"kind": "session", "session_id": "s-1"}),
        (["item", "ada", "e-1"], {"kind": "item", "item_id": "e-1", "messages": False}),
        (["item", "ada", "e-1", "--messages"], {"kind": "item", "item_id": "e-1", "messages": True}),
        (["period", "ada", "--until", "2026-03-01T00:00:00Z"], {"kind": "period", "until": "2026-03-01T00:00:00Z"}),
    ],
)
def test_a_part_is_erased(asked: list[tuple[str, Any]], words: list[str], scope: dict[str, Any]) -> None:
    assert "e1: done" in _run(*words, "--yes")
    assert asked == [("erase", ({"user_id": "ada", **scope},))]


def test_what_is_waited_for_is_shown_on_standard_error_alone(asked: list[tuple[str, Any]]) -> None:
    command = ["erase", "user", "ada", "--yes", "--json", "--url", "http://127.0.0.1:1"]
    ended = CliRunner().invoke(cli.app, command, env={"COLUMNS": "120"})
    assert json.loads(ended.stdout)["state"] == "done"
    assert "erasing" in ended.stderr
    assert "1/1" in ended.stderr


def test_a_period_has_a_begin_or_an_end(asked: list[tuple[str, Any]]) -> None:
    assert "--since" in _run("period", "ada", "--yes")
    assert asked == []


def test_it_need_not_wait(asked: list[tuple[str, Any]]) -> None:
    assert "jiyi erase status e1" in _run("user", "ada", "--yes", "--no-wait")
    assert "vectors" in _run("list")


def test_tombstones_are_printed_and_replayed(asked: list[tuple[str, Any]], tmp_path: Any) -> None:
    printed = _run("tombstones")
    file = tmp_path / "marks.json"
    file.write_text(printed)
    assert "1 erasures were done again" in _run("replay", str(file))
    assert asked == [("replay", (json.loads(printed), {}))]
