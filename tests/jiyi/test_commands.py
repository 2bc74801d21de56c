"""All commands, by introspection: JSON, help, completion and exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from jiyi import Client, cli
from jiyi.commands import facts, memories
from jiyi.commands.knowledge import bases as knowledge
from jiyi.commands.operations import bench, users

ROOT = typer.main.get_command(cli.app)
SAID = "I moved to Boston in March 2025."
PRINTS_NO_DATA = {"mcp"}
"""It speaks a protocol of its own."""
EXPECTED = (
    *("up", "down", "status", "config", "chat", "replay", "export", "import", "facts", "users", "knowledge"),
    *("keys", "erase", "reembed", "index", "jobs", "bench"),
)
"""What an operator or a user does (issue 20, point 9)."""


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its words."""
    if children := getattr(command, "commands", None):
        for name, child in children.items():
            yield from commands(child, f"{path} {name}".strip())
    else:
        yield path, command


COMMANDS = dict(commands(ROOT))


def run(*words: str) -> str:
    result = CliRunner().invoke(cli.app, [*words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_everything_that_one_does_has_a_command() -> None:
    assert {name.split()[0] for name in COMMANDS} >= {*EXPECTED}


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in PRINTS_NO_DATA])
def test_a_command_prints_json_where_it_is_asked_to(name: str) -> None:
    assert "--json" in {option for parameter in COMMANDS[name].params for option in parameter.opts}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_each_of_its_options_say_what_they_do(name: str) -> None:
    assert COMMANDS[name].help
    unsaid = [each.name for each in COMMANDS[name].params if each.name != "help" and not each.help]
    assert unsaid == []


@pytest.fixture
def known(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A service that has learned something; its tables are wide enough to be read."""
    for module in (facts, knowledge, memories, users):
        monkeypatch.setattr(module._console, "_width", 200)
    with Client(url) as jiyi:
        jiyi.chat(SAID, user_id="ann", wait=True)
    return url


def test_what_commands_print_as_json_is_json_alone(known: str, tmp_path: Path) -> None:
    exported = tmp_path / "ann.jsonl"
    exported.write_text(run("export", "ann", "--url", known), encoding="utf-8")
    recording = tmp_path / "talk.jsonl"
    recording.write_text('{"role": "user", "content": "RM05-008 arrived."}\n', encoding="utf-8")
    with Client(known) as jiyi:
        [entry] = jiyi.memories.timeline(user_id="ann")
        corpus = jiyi.knowledge.create("manuals")
        changed = jiyi.knowledge.change(corpus.corpus_id, config={"search": {"mode": "keyword"}})
    memory = entry.memory.memory_id
    for words in (
        ["chat", "Where do I live?", "--user", "ann"],
        ["facts", "list", "ann"],
        ["facts", "categories", "ann"],
        ["facts", "context", "ann"],
        ["facts", "retrieve", "ann", "Boston", "--tiers", "3"],
        ["facts", "entities", "list", "ann"],
        ["facts", "entities", "aliases", "ann", "Boston"],
        ["users", "show", "ann"],
        ["users", "persona", "show", "ann"],
        ["users", "persona", "set", "ann", "--name", "Mei"],
        ["memories", "add", "The spare key is in the blue drawer."],
        ["memories", "search", "key"],
        ["memories", "timeline", "ann"],
        ["memories", "show", "ann", memory],
        ["memories", "edit", "ann", memory, "I moved to Boston."],
        ["memories", "history", "ann", memory],
        ["memories", "retain", "ann", memory],
        ["memories", "audit", "ann"],
        ["memories", "policy", "ann"],
        ["memories", "preview", "ann"],
        ["knowledge", "add", str(recording)],
        ["knowledge", "list"],
        ["knowledge", "search", "RM05-008"],
        ["knowledge", "sources", "documents"],
        ["knowledge", "versions", "manuals"],
        ["knowledge", "rollback", "manuals", "--version", str(changed.version - 1)],
        ["knowledge", "remove", "manuals", "--yes"],
        ["import", str(exported), "--user", "bob"],
        ["review", "--dry-run"],
        ["job", "nightly"],
        ["reembed", "--status"],
        ["index", "verify"],
        ["index", "status"],
        ["jobs", "list"],
        ["keys", "create", "backend"],
        ["keys", "list"],
        ["erase", "user", "bob", "--yes"],
        ["erase", "list"],
        ["erase", "tombstones"],
        ["erase", "replay"],
    ):
        json.loads(run(*words, "--json", "--url", known))


def test_facts_and_users_are_shown_as_tables(known: str) -> None:
    assert "Boston" in run("facts", "list", "ann", "--url", known)
    assert "Boston" in run("facts", "list", "ann", "--as-of", "2025-06-01", "--url", known)
    assert "Boston" not in run("facts", "list", "ann", "--as-of", "2024-06-01", "--url", known)
    assert "Boston" in run("facts", "context", "ann", "--url", known)
    assert "Boston" in run("facts", "retrieve", "ann", "Boston", "--url", known)
    shown = run("users", "show", "ann", "--url", known)
    assert all(words in shown for words in ("memories", "facts", "0.1 a day (of: default)"))


def test_users_are_listed_by_the_service(known: str) -> None:
    assert {"user": "ann"} in json.loads(run("users", "list", "--url", known, "--json"))
    assert "ann" in run("users", "list", "--url", known)


def test_users_are_listed_from_the_store_without_a_service(tmp_path: Path) -> None:
    assert json.loads(run("users", "list", "--home", str(tmp_path), "--json")) == []


def test_the_benchmarks_are_listed_with_what_they_measure_and_run_with_their_arguments() -> None:
    listed = json.loads(run("bench", "--json"))
    assert {"soak", "conversations", "service", "retrieval.recall"} <= listed.keys()
    assert all(listed.values())
    assert "Kills" in _jiyi("bench", "survival", "--help").stdout


def test_a_benchmark_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["bench", "unknown"])
    assert (result.exit_code, "jiyi bench" in result.output) == (2, True)
    monkeypatch.setattr(bench, "_ROOT", tmp_path)
    result = CliRunner().invoke(cli.app, ["bench"])
    assert (result.exit_code, "source repository" in result.output) == (1, True)


def test_the_openapi_document_is_printed() -> None:
    assert "/chat" in json.loads(run("openapi"))["paths"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_are_completed_in_a_shell(shell: str) -> None:
    words = {"COMP_WORDS": "jiyi ind", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "jiyi ind"}
    action = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert "index" in _jiyi(**words, **action, _JIYI_COMPLETE=f"complete_{shell}").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["memories", "show", "ann", "none", "--url", "URL"], 1, "Look at the id"),
        (["memories", "timeline", "ann", "--limit", "0", "--url", "URL"], 1, "at least 1"),
        (["memories", "shw"], 2, "show"),
        (["config", "--config", "missing.yaml"], 2, "missing.yaml"),
        (["facts", "list", "ann", "--url", "http://127.0.0.1:1"], 3, "jiyi up"),
        (["status", "--home", "HOME"], 3, "jiyi up"),
    ],
)
def test_the_exit_code_and_the_message_say_what_went_wrong_and_what_to_do(
    url: str, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    given = [{"URL": url, "HOME": str(tmp_path)}.get(word, word) for word in words]
    program = (
        "import sys\nfrom jiyi import cli\nfrom jiyi.commands import facts\nfacts._PATIENCE_S = 0\n"
        f"sys.argv = ['jiyi', *{given!r}]\ncli.main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert said in ended.stderr
    assert ended.stdout == ""


def _jiyi(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("jiyi")), *words]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
