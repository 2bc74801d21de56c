"""`jiyi encryption` on a home with a record, and `jiyi up` with the wrong key."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.builders.storage.stores import open_record
from deployments.config.settings import AppArgs
from deployments.host.supervisor import home_lock
from jiyi.cli import app
from tests.deployments.builders.homes import KEY, OTHER_KEY, SECRET, parts_with
from tests.storage.conftest import resource, save


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("JIYI_ENCRYPTION_KEY", raising=False)

    async def fill() -> None:
        record = open_record(AppArgs(home=tmp_path), durable=True)
        await save(record, resources=[resource("r", content=SECRET)])
        await record.close()

    asyncio.run(fill())
    return tmp_path


def jiyi(home: Path, *words: str, key: str | None) -> Result:
    return CliRunner().invoke(app, [*words, "--home", str(home)], env={"JIYI_ENCRYPTION_KEY": key, "COLUMNS": "300"})


def test_a_home_is_encrypted_given_another_key_and_decrypted(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    old = tmp_path_factory.mktemp("keys") / "old"
    old.write_text(f"{KEY}\n")
    assert "record: not encrypted" in jiyi(home, "encryption", "status", key=KEY).output
    assert "record: done" in jiyi(home, "encryption", "on", key=KEY).output
    assert parts_with(home, SECRET) == []
    assert "record: encrypted with this key" in jiyi(home, "encryption", "status", key=KEY).output
    rotated = jiyi(home, "encryption", "rotate", str(old), key=OTHER_KEY)
    assert rotated.exit_code == 0, rotated.output
    assert "record: encrypted with another key" in jiyi(home, "encryption", "status", key=KEY).output
    assert jiyi(home, "encryption", "off", key=OTHER_KEY).exit_code == 0
    assert parts_with(home, SECRET) == ["record.sqlite"]


def test_which_stores_were_written_anew_is_printed_as_json(home: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text(f"{KEY}\n")
    for words, key in ((["on"], KEY), (["rotate", str(old)], OTHER_KEY), (["off"], OTHER_KEY)):
        printed = jiyi(home, "encryption", *words, "--json", key=key)
        assert json.loads(printed.stdout) == {
            "action": words[0],
            "done": ["record", "journal", "vector index", "sessions"],
        }


def test_without_a_key_or_with_the_wrong_one_the_command_says_what_to_set(home: Path) -> None:
    missing = jiyi(home, "encryption", "on", key=None)
    assert missing.exit_code == 1
    assert "JIYI_ENCRYPTION_KEY" in missing.output
    assert jiyi(home, "encryption", "on", key=KEY).exit_code == 0
    wrong = jiyi(home, "encryption", "off", key=OTHER_KEY)
    assert wrong.exit_code == 1
    assert "neither" in wrong.output


def test_it_is_refused_while_the_service_runs(home: Path) -> None:
    with home_lock(home):
        refused = jiyi(home, "encryption", "on", key=KEY)
    assert refused.exit_code == 1
    assert "jiyi down" in refused.output
    assert parts_with(home, SECRET) == ["record.sqlite"]


def test_the_service_does_not_start_on_a_home_in_clear_with_a_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jiyi.service.start", lambda *_, **__: pytest.fail("it was started"))
    refused = jiyi(home, "up", key=KEY)
    assert refused.exit_code == 1
    assert "jiyi encryption on" in refused.output


def test_a_key_that_is_none_is_named_and_not_shown(home: Path) -> None:
    with pytest.raises(Exception, match="JIYI_ENCRYPTION_KEY") as caught:
        AppArgs(home=home, encryption_key="my passphrase")  # type: ignore[arg-type]
    assert "passphrase" not in str(caught.value)
