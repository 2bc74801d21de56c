"""`jiyi import --from`: exports of other services, once and again, and the way out and back."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console
from rich.progress import DownloadColumn, Task, TaskID
from typer.testing import CliRunner

from jiyi import cli
from jiyi.commands.output import USAGE
from tests.memory.portability.foreign_exports import LETTA, MEM0, OPENAI, ZEP

_PATIENCE_S = 300


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no cell is folded."""
    monkeypatch.setattr(cli, "_console", Console(width=200))


def write(folder: Path, data: Any) -> str:
    path = folder / "export.json"
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return str(path)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["import", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("source", "data", "entries", "said"),
    [
        ("mem0", MEM0, 2, "User likes oolong tea"),
        ("letta", LETTA, 4, "I study in Berkeley."),
        ("zep", ZEP, 3, "I work at Acme."),
        ("openai", OPENAI, 2, "我喜歡烏龍茶"),
    ],
)
def test_an_export_is_imported_once_and_found_and_the_way_out_and_back_changes_nothing(
    url: str, tmp_path: Path, source: str, data: Any, entries: int, said: str
) -> None:
    arguments = [write(tmp_path, data), "--from", source, "--user", "ada", "--url", url]
    code, shown = run(*arguments, "--dry-run")
    assert (code, "skipped:" in shown) == (0, True)
    with httpx.Client(base_url=url, timeout=_PATIENCE_S) as http:
        owner = {"user_id": "ada"}
        assert http.post("/search", json={**owner, "query": said}).json()["results"] == []  # a dry run wrote nothing
        code, shown = run(*arguments)
        assert (code, f"resource │ {entries:>8} │ {0:>9}" in shown) == (0, True), shown
        http.post("/memories", json={**owner, "text": "settle"})  # waits until all is learned
        found = http.post("/search", json={**owner, "query": said, "kinds": ["memory"]}).json()["results"]
        assert said in [hit["text"] for hit in found]
        _, again = run(*arguments)
        assert f"{0:>8} │ {entries:>9}" in again, again
        before = http.get("/export", params=owner).content
        assert http.delete("/users/ada", params={"wait": True}).json()["state"] == "done"
        kept = tmp_path / "kept.jsonl"
        kept.write_bytes(before)
        assert run(str(kept), "--url", url)[0] == 0
        after = http.get("/export", params=owner).content
        assert after.partition(b"\n")[2] == before.partition(b"\n")[2]


def test_bytes_are_counted_on_standard_error_and_the_export_is_alone_on_standard_output(
    url: str, tmp_path: Path
) -> None:
    with httpx.Client(base_url=url, timeout=_PATIENCE_S) as http:
        http.post("/memories", json={"user_id": "ada", "text": "The spare key is in the blue drawer."})
        whole = http.get("/export", params={"user_id": "ada"}).text
    exported = CliRunner().invoke(cli.app, ["export", "ada", "--url", url])
    size = len(exported.stdout_bytes)
    assert exported.stdout.splitlines()[1:] == whole.splitlines()[1:]  # the header has the time
    assert "export of ada" in exported.stderr
    file = tmp_path / "ada.jsonl"
    file.write_bytes(exported.stdout_bytes)
    imported = CliRunner().invoke(cli.app, ["import", str(file), "--user", "bob", "--json", "--url", url])
    assert json.loads(imported.stdout)["imported"]
    counted = DownloadColumn().render(Task(TaskID(0), "", size, size, _get_time=time.monotonic)).plain
    assert "import for bob" in imported.stderr
    assert counted in exported.stderr
    assert counted in imported.stderr


def test_what_cannot_be_imported_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    file = write(tmp_path, MEM0)
    for arguments, words in (
        ([file, "--from", "mem0"], "--user"),
        ([file, "--from", "openai", "--user", "ada"], "conversations"),
        ([file, "--dry-run"], "--from"),
        ([file, "--from", "other", "--user", "ada"], "other"),
    ):
        code, shown = run(*arguments, "--url", "http://127.0.0.1:9")
        assert (code, words in shown) == (USAGE, True), shown
    assert "--from mem0|letta|zep|openai" in run(file, "--url", "http://127.0.0.1:9")[1]
    (tmp_path / "export.json").write_text("{", encoding="utf-8")
    assert run(file, "--from", "zep", "--user", "ada")[0] == USAGE
