"""`jiyi reembed`: what a person sees, and what a script can rely on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner, Result

from jiyi import cli
from jiyi.commands.operations import runs
from jiyi.commands.operations.runs import RunLost


def _run(phase: str, state: str = "done", *, run_id: str = "r1", error: str | None = None, **output: int) -> Any:
    models = {"from": {"model_id": "e5", "dimension": 4}, "to": {"model_id": "mpnet", "dimension": 6}}
    return {
        "run_id": run_id,
        "state": state,
        "input": models,
        "output": {"phase": phase} | output,
        "done": 3,
        "total": 4,
        "error": error,
    }


class Index:
    """Answers with one state after the other."""

    def __init__(self, *states: Any) -> None:
        self._states = [*states]

    def reembedding(self) -> Any:
        """The next state; the last one for ever."""
        return self._states.pop(0) if len(self._states) > 1 else self._states[0]


def of(*states: Any) -> Any:
    """A client whose index has these states."""
    return SimpleNamespace(index=Index(*states))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_POLL_S", 0.0)


def _shown(run: Any) -> str:
    console = Console(width=200, record=True, quiet=True)
    console.quiet = False
    with console.capture() as capture:
        console.print(runs.show_reembedding(run))
    return capture.get()


def test_a_run_is_followed_through_its_phases_until_it_rests() -> None:
    client = of(_run("filling", "running", error="the store is away"), _run("verifying", "running"), _run("switched"))
    with Progress(disable=True) as progress:
        ended = runs.follow_reembedding(client, _run("filling", "running"), progress)
        [task] = progress.tasks
    assert (ended["output"]["phase"], task.description, task.completed) == ("switched", "switched", 4)


def test_another_run_in_its_place_is_said() -> None:
    with Progress(disable=True) as progress, pytest.raises(RunLost):
        runs.follow_reembedding(of(_run("filling", run_id="r2")), _run("filling", "running"), progress)


def test_what_can_be_done_next_is_said() -> None:
    switched = _shown(_run("switched", checked=4, wrong=0, sampled=2, found=2))
    assert "e5 → mpnet" in switched
    assert "--finish" in switched
    assert "--rollback" in switched
    failed = _shown(_run("verifying", "failed", error="Only 1 of 64 items are found again."))
    assert "Only 1 of 64" in failed
    assert "--to mpnet" in failed
    assert "--" not in _shown(_run("finished"))


def _jiyi(*words: str) -> Result:
    return CliRunner().invoke(cli.app, ["reembed", *words])


@pytest.mark.parametrize("words", [[], ["--rollback", "--finish"], ["--to", "mpnet", "--status"]], ids=str)
def test_exactly_one_thing_can_be_asked_for(words: list[str]) -> None:
    done = _jiyi(*words)
    assert done.exit_code == 2
    assert "--rollback" in done.output


def test_without_a_service_the_way_to_start_one_is_said(tmp_path: Path) -> None:
    done = _jiyi("--status", "--home", str(tmp_path))
    assert done.exit_code == 3
    assert "jiyi up" in done.output
