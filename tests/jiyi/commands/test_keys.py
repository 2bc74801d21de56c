"""`jiyi keys`: in the store of a home, for people and for scripts."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deployments.config.settings import AppArgs
from jiyi import cli, service


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JIYI_HOME", str(tmp_path))
    return tmp_path


def _run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(cli.app, ["keys", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def _json(*arguments: str) -> Any:
    return json.loads(_run(*arguments, "--json"))


def test_a_key_from_its_making_to_its_end(home: Path) -> None:
    issued = _json("create", "Ada's phone", "--user", "ada", "--app", "shop", "--days", "30")
    key = issued["key"]
    assert (key["scope"], key["app"], key["user"]) == ("user", "shop", "ada")
    assert issued["secret"].startswith(f"{key['prefix']}_")
    assert [found["key_id"] for found in _json("list", "--app", "shop", "--user", "ada")] == [key["key_id"]]
    assert _json("list", "--app", "desk") == []
    rotated = _json("rotate", key["prefix"], "--overlap", "60")
    assert rotated["key"]["key_id"] == key["key_id"]
    assert rotated["secret"] != issued["secret"]
    assert _json("revoke", key["key_id"])["revoked_at"] is not None
    assert "revoked" in _run("list")
    assert "revoked" in _run("rotate", key["key_id"], code=1)


def test_the_scope_follows_from_the_options(home: Path) -> None:
    assert _json("create", "backend")["key"]["scope"] == "app"
    assert _json("create", "me", "--admin")["key"]["scope"] == "admin"
    _run("create", "both", "--admin", "--user", "ada", code=2)


def test_the_secret_is_shown_once_and_is_in_no_file(home: Path) -> None:
    output = _run("create", "backend")
    [secret] = [line for line in output.splitlines() if line.startswith("jiyi_")]
    hidden = secret.split("_", 2)[2].encode()
    assert hidden.decode() not in _run("list")
    assert not [path for path in home.rglob("*") if path.is_file() and hidden in path.read_bytes()]
    _run("revoke", secret, code=2)


def test_every_act_is_in_the_audit_log(home: Path) -> None:
    key_id = _json("create", "backend")["key"]["key_id"]
    _run("list")
    _run("rotate", key_id)
    _run("revoke", key_id)
    lines = [json.loads(line) for line in (home / "logs" / "audit.jsonl").read_text().splitlines()]
    assert [line["act"] for line in lines] == ["create_key", "rotate_key", "revoke_key"]
    assert {line["credential"] for line in lines} == {"command line"}


def test_what_is_not_there_is_said(home: Path) -> None:
    assert "no key 'none'" in _run("revoke", "none", code=1)


def test_the_service_is_not_started_open_to_a_network(home: Path) -> None:
    with pytest.raises(service.BadSettings, match="JIYI_AUTH__REQUIRED"):
        service.check_address(AppArgs(), "0.0.0.0")
    assert service.open_warning(AppArgs()) is not None
    assert service.open_warning(AppArgs.model_validate({"auth": {"required": True}})) is None
