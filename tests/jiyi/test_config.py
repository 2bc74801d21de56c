"""`jiyi config`: what a user sees of the settings."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from jiyi import cli


def test_all_settings_as_json_with_those_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JIYI_ARANGO__PASSWORD", "hidden")
    file = tmp_path / "serve_config.yaml"
    file.write_text("applications: [{import_path: 'deployments.app:build_app', args: {ingress_replicas: 2}}]")
    result = CliRunner().invoke(cli.app, ["config", "--json", "--home", str(tmp_path), "--config", str(file)])
    settings = {setting["name"]: setting for setting in json.loads(result.stdout)}
    assert (settings["home"]["value"], settings["home"]["source"]) == (str(tmp_path), "args")
    assert (settings["ingress_replicas"]["value"], settings["ingress_replicas"]["source"]) == ("2", "args")
    assert settings["arango.password"]["source"] == "environment"
    assert "hidden" not in result.stdout


def test_the_table_shows_name_variable_and_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_console", Console(width=200))
    output = CliRunner().invoke(cli.app, ["config"]).stdout
    for text in ("embedder.target_wait_s", "JIYI_EMBEDDER__TARGET_WAIT_S", "number > 0", "Seconds that the tokens"):
        assert text in output


def test_a_bad_setting_is_a_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JIYI_INGRESS_REPLICAS", "0")
    monkeypatch.setattr("sys.argv", ["jiyi", "config"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "ingress_replicas (JIYI_INGRESS_REPLICAS): Input should be greater" in capsys.readouterr().err
