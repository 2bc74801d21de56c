"""`jiyi facts entities`, `users persona`, and adding, finding and undoing with `jiyi memories`."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from jiyi import cli
from jiyi.commands import entities, memories
from jiyi.commands.operations import personas
from jiyi.commands.output import USAGE

SAID = "The spare key is in the blue drawer."


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no cell is folded."""
    for module in (entities, memories, personas):
        monkeypatch.setattr(module._console, "_width", 200)


def run(url: str, *words: str) -> str:
    result = CliRunner().invoke(cli.app, [*words, "--url", url], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(url: str, *words: str) -> Any:
    return json.loads(run(url, *words, "--json"))


def test_what_was_added_is_found_by_its_user_alone_and_added_once_under_a_key(url: str) -> None:
    added = run(url, "memories", "add", SAID, "--user", "ann", "--key", "k-1")
    run(url, "memories", "add", SAID, "--user", "ann", "--key", "k-1")
    [hit] = as_json(url, "memories", "search", "Where is the key?", "--user", "ann")["results"]
    assert (hit["text"], hit["id"] in added) == (SAID, True)
    assert SAID in run(url, "memories", "search", "Where is the key?", "--user", "ann")
    assert as_json(url, "memories", "search", "Where is the key?", "--user", "bob")["results"] == []


def test_a_change_is_undone_by_its_id(url: str) -> None:
    run(url, "memories", "add", SAID, "--user", "ann")
    [memory] = as_json(url, "memories", "search", "key", "--user", "ann")["results"]
    run(url, "memories", "edit", "ann", memory["id"], "The spare key is in the hall.")
    [change, *_] = as_json(url, "memories", "history", "ann", memory["id"])
    shown = run(url, "memories", "undo", change["change_id"], "--user", "ann", "--reason", "it was wrong")
    assert "undone, by change " in shown
    assert as_json(url, "memories", "show", "ann", memory["id"])["memory"]["text"] == SAID


def test_entities_are_listed_and_aliases_shown_added_and_removed(url: str) -> None:
    run(url, "memories", "add", "AI-Box 放在三樓機房。", "--user", "ann")
    assert "AI-Box" in [each["entity_value"] for each in as_json(url, "facts", "entities", "list", "ann")]
    assert "AI-Box" in run(url, "facts", "entities", "list", "ann", "--query", "AI-Box")
    assert "AI-Box: no aliases" in run(url, "facts", "entities", "aliases", "ann", "AI-Box")
    added = run(url, "facts", "entities", "aliases", "ann", "AI-Box", "--add", "the grey box")
    assert "AI-Box: the grey box" in added
    assert "the grey box" in run(url, "facts", "entities", "list", "ann")
    undo = added.strip().splitlines()[-1].removeprefix("Undo it with: jiyi ").split()
    run(url, *undo)
    assert as_json(url, "facts", "entities", "aliases", "ann", "AI-Box")["entity"]["aliases"] == []
    run(url, "facts", "entities", "aliases", "ann", "AI-Box", "--add", "the grey box")
    removed = run(url, "facts", "entities", "aliases", "ann", "the grey box", "--remove", "the grey box")
    assert "AI-Box: no aliases" in removed


def test_a_persona_is_set_in_place_of_the_one_before_and_shown(url: str) -> None:
    run(url, "users", "persona", "set", "ann", "--name", "Mei", "--alias", "小美", "--fact", "She lives in Tainan.")
    shown = run(url, "users", "persona", "show", "ann")
    assert all(words in shown for words in ("Mei", "小美", "She lives in Tainan."))
    profile = as_json(url, "users", "persona", "set", "ann", "--persona", "pirate", "--style", "Speak as a pirate.")
    assert profile["profile"]["persona_id"] == "pirate"
    run(url, "users", "persona", "set", "ann", "--name", "Lin")
    assert as_json(url, "users", "persona", "show", "ann")["profile"]["aliases"] == []
    nothing = CliRunner().invoke(cli.app, ["users", "persona", "set", "ann", "--url", url])
    assert (nothing.exit_code, "--name" in nothing.output) == (USAGE, True)
