"""`jiyi knowledge graph`: a graph is built, shown, asked and rolled back."""

import json

import pytest
from typer.testing import CliRunner

from jiyi import cli
from jiyi.commands.knowledge import graph as knowledge_graph
from tests.jiyi.commands.test_knowledge import run


def test_a_graph_is_built_asked_and_rolled_back(
    url: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("files")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(knowledge_graph._console, "_width", 160)
    (folder / "a.txt").write_text("王小明在台積電工作。")
    (folder / "b.txt").write_text("Alice lives in Berlin.")
    assert run("add", "a.txt", "--corpus", "shop", "--url", url)[0] == 0
    code, output = run("graph", "build", "shop", "--url", url)
    assert code == 0
    assert output.startswith("shop: version 1, 2 nodes, 2 edges; 1 of 1 chunks read in ")
    assert run("add", "b.txt", "--corpus", "shop", "--url", url)[0] == 0
    code, output = run("graph", "build", "shop", "--json", "--url", url)
    assert (code, json.loads(output)["output"]["extracted"]) == (0, 1)
    code, output = run("graph", "show", "shop", "--url", url)
    assert code == 0
    assert "王小明 | works_at | 台積電" in output
    code, output = run("graph", "find", "shop", "ber", "--url", url)
    assert output.split() == ["1", "Berlin", "place"]
    code, output = run("graph", "neighbours", "shop", "Alice", "--json", "--url", url)
    assert {node["name"] for node in json.loads(output)["nodes"]} == {"Alice", "Berlin"}
    code, output = run("graph", "path", "shop", "台积电", "王小明", "--url", url)
    assert (code, output.strip()) == (0, "台積電 - 王小明")
    assert run("graph", "path", "shop", "台積電", "Berlin", "--url", url) == (1, "")
    code, output = run("graph", "versions", "shop", "--url", url)
    assert "2*" in output
    code, output = run("graph", "rollback", "shop", "--url", url)
    assert output.strip() == "shop: version 1 is shown"
    code, output = run("graph", "rollback", "shop", "--to", "2", "--url", url)
    assert output.strip() == "shop: version 2 is shown"


def test_what_is_not_there_is_named(url: str) -> None:
    result = CliRunner().invoke(cli.app, ["knowledge", "graph", "show", "nowhere", "--url", url])
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
