"""`jiyi erase`: asks first, waits for the end, and shows the receipt."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from jiyi import cli, erasing
from jiyi.client import JiyiClient

RECEIPT = {"removed": {"record.resources": 3, "sessions": 0}, "purged": {"vectors": False}, "sha256": "ab12"}


def _erasure(state: str, **fields: Any) -> dict[str, Any]:
    shown = {"erasure_id": "e1", "kind": "user", "state": state, "requested_at": "2026-01-01", "attempts": 1}
    return {**shown, "waits_for": None, "receipt": RECEIPT if state == "done" else None, **fields}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the service was asked; an erasure waits for a store once before it is done."""
    calls: list[tuple[str, Any]] = []
    states = [_erasure("pending", waits_for="vectors"), _erasure("done")]

    def erase(_: JiyiClient, **body: Any) -> dict[str, Any]:
        calls.append(("erase", body))
        return _erasure("pending")

    def replay(_: JiyiClient, marks: Any) -> list[dict[str, Any]]:
        calls.append(("replay", marks))
        return [_erasure("done")]

    monkeypatch.setattr(erasing, "_POLL_S", 0)
    monkeypatch.setattr(JiyiClient, "erase", erase)
    monkeypatch.setattr(JiyiClient, "erasure", lambda _, __: states.pop(0))
    monkeypatch.setattr(JiyiClient, "erasures", lambda _: [_erasure("pending", waits_for="vectors")])
    monkeypatch.setattr(JiyiClient, "tombstones", lambda _: [{"erasure_id": "e1"}])
    monkeypatch.setattr(JiyiClient, "replay_erasures", replay)
    return calls


def _run(*words: str, answer: str = "") -> str:
    return CliRunner().invoke(cli.app, ["erase", *words, "--url", "http://127.0.0.1:1"], input=answer).output


def test_it_asks_before_it_erases(asked: list[tuple[str, Any]]) -> None:
    assert "cannot be undone" in _run("user", "ada", answer="n\n")
    assert asked == []


def test_it_waits_and_shows_what_was_removed(asked: list[tuple[str, Any]]) -> None:
    shown = _run("user", "ada", "--yes")
    assert asked == [("erase", {"user_id": "ada", "kind": "user"})]
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
    assert asked == [("erase", {"user_id": "ada", **scope})]


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
    assert asked == [("replay", json.loads(printed))]
