"""`jiyi memories`: what it asks the service, and what it shows."""

import json
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from jiyi import cli
from jiyi.client.resources.memories import Memories
from jiyi.errors import Conflict
from tests.jiyi.answering import OnePage, answering

MEMORY = {"memory_id": "m1", "text": "AI-Box 放在三樓機房。", "created_at": "2026-03-01T12:00:00Z", "version": 2}
ENTRY = {"memory": MEMORY, "retention": {"score": 0.1234, "access_count": 3, "is_forgotten": False}, "facts": []}
DECIDED = {"decision_id": "d1", "removed": {"facts": 2, "memories": 1}, "erasures": ["e1"]}
POLICY = {"policy": {"decay_rate": 0.1, "frequency_weight": 1.0, "threshold": 0.01}, "source": "default"}
PREVIEW = {
    "memories": {"total": 5, "forgotten": 1},
    "facts": {"total": 7, "forgotten": 0},
    "samples": [{**ENTRY, "retention": {"score": 0.001, "access_count": 0, "is_forgotten": True}}],
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the service was asked."""
    calls: list[tuple[str, Any]] = []

    answers = {
        "timeline": OnePage({"results": [ENTRY], "next": "1.m1"}),
        "get": ENTRY,
        "edit": {"memory": ENTRY, "change": None},
        "history": OnePage({"results": [{"kind": "edit"}]}),
        "decide": DECIDED,
        "decisions": OnePage({"results": [DECIDED]}),
        "policy": POLICY,
        "set_policy": POLICY | {"source": "user"},
        "preview_policy": PREVIEW,
    }
    for name, answer in answers.items():
        answering(monkeypatch, Memories, name, lambda *_, answer=answer, **__: answer, calls)
    return calls


def _run(*words: str, answer: str = "") -> str:
    return CliRunner().invoke(cli.app, ["memories", *words, "--url", "http://127.0.0.1:1"], input=answer).output


def test_a_timeline_shows_scores_and_where_it_goes_on(asked: list[tuple[str, Any]]) -> None:
    shown = _run("timeline", "ada", "--since", "2026-01-01T00:00:00Z", "--kind", "turn")
    options = {"user_id": "ada", "since": "2026-01-01T00:00:00Z", "kind": "turn", "limit": 20}
    assert asked == [("timeline", (options,))]
    assert all(words in shown for words in ("0.123", "m1", "2026-03-01T12:00", "--after 1.m1"))
    assert json.loads(_run("timeline", "ada", "--json"))["results"] == [ENTRY]


@pytest.mark.parametrize("decision", ["delete", "anonymize"])
def test_it_asks_before_something_goes(asked: list[tuple[str, Any]], decision: str) -> None:
    assert "cannot be undone" in _run(decision, "ada", "m1", answer="n\n")
    assert asked == []
    shown = _run(decision, "ada", "m1", "m2", "--yes", "--version", "2", "--key", "k", "--note", "by mail")
    options = {"user_id": "ada", "note": "by mail", "wait": True, "idempotency_key": "k"}
    options |= {"expected_versions": {"m1": 2, "m2": 2}}
    assert asked == [("decide", ({"m1": decision, "m2": decision}, options))]
    assert all(words in shown for words in ("d1", "2 facts, 1 memories", "jiyi erase status e1"))


def test_retaining_asks_nothing(asked: list[tuple[str, Any]]) -> None:
    _run("retain", "ada", "m1")
    assert asked == [("decide", ({"m1": "retain"}, {"user_id": "ada", "note": "", "wait": True}))]


def test_a_refusal_is_shown_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise Conflict("the memory m1 has version 3, not 2", status=409)

    monkeypatch.setattr(Memories, "decide", refuse)
    monkeypatch.setattr(
        sys, "argv", ["jiyi", "memories", "delete", "ada", "m1", "--yes", "--url", "http://127.0.0.1:1"]
    )
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    shown = capsys.readouterr().err
    assert "version 3, not 2" in shown
    assert Conflict.advice in shown


def test_one_memory_is_shown_edited_and_its_history_told(asked: list[tuple[str, Any]]) -> None:
    assert json.loads(_run("show", "ada", "m1", "--json")) == ENTRY
    assert "version 2" in _run("edit", "ada", "m1", "放在四樓。", "--version", "1")
    assert json.loads(_run("history", "ada", "m1", "--json")) == [{"kind": "edit"}]
    assert json.loads(_run("audit", "ada", "--memory", "m1", "--json")) == [DECIDED]
    edit = {"user_id": "ada", "text": "放在四樓。", "reason": "", "expected_version": 1}
    assert asked == [
        ("get", ("m1", {"user_id": "ada"})),
        ("edit", ("m1", edit)),
        ("history", ("m1", {"user_id": "ada"})),
        ("decisions", ({"user_id": "ada", "memory_id": "m1"},)),
    ]


def test_a_policy_is_shown_set_removed_and_previewed(asked: list[tuple[str, Any]]) -> None:
    assert "decay_rate 0.1, frequency_weight 1, threshold 0.01 (of: default)" in _run("policy")
    _run("policy", "ada", "--decay-rate", "0.2")
    _run("policy", "ada", "--remove")
    shown = _run("preview", "ada", "--threshold", "0.02")
    assert "1 of 5 forgotten" in shown
    assert asked == [
        ("policy", ({},)),
        ("set_policy", ({"decay_rate": 0.2}, {"user_id": "ada"})),
        ("set_policy", (None, {"user_id": "ada"})),
        ("preview_policy", ({"threshold": 0.02}, {"user_id": "ada", "samples": 10})),
    ]
