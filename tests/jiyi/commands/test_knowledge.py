"""`jiyi knowledge`: folders go into a corpus, and a bad file fails alone."""

import json
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from jiyi import Client, cli
from jiyi.commands.knowledge import bases as knowledge
from jiyi.commands.knowledge import contents, pages
from jiyi.commands.knowledge.pages import Page, PageRefused
from jiyi.commands.output import USAGE


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, ["knowledge", *words])
    return result.exit_code, result.stdout


def test_a_folder_is_added_listed_and_searched(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(knowledge._console, "_width", 160)
    (tmp_path / "manual" / ".git").mkdir(parents=True)
    (tmp_path / "manual" / ".git" / "config").write_text("hidden")
    (tmp_path / "manual" / "warranty.md").write_text("# 保固\n\n電池不在保固範圍內。")
    (tmp_path / "manual" / "delivery.txt").write_text("Delivery takes three days.")
    code, output = run("add", "manual", "--corpus", "shop", "--metadata", '{"year": 2026}', "--url", url)
    assert (code, output.strip()) == (0, "shop: 2 ready")
    (tmp_path / "broken.bin").write_bytes(b"\xff\xfe")
    code, output = run("add", "manual", "broken.bin", "--corpus", "shop", "--metadata", '{"year": 2026}', "--url", url)
    assert code == 1
    assert output.strip().splitlines()[0] == "shop: 1 failed, 2 skipped"
    assert "broken.bin: UnreadableDocumentError: " in output
    code, output = run("list", "--url", url)
    assert code == 0
    assert "shop" in output
    code, output = run("search", "電池的保固", "--corpus", "shop", "--limit", "1", "--url", url)
    assert code == 0
    assert "manual/warranty.md · p. 1 · 保固" in output
    assert run("search", "x", "--corpus", "unknown", "--url", url)[0] != 0


def test_a_document_is_removed_and_then_the_corpus_after_a_question(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(contents._console, "_width", 200)
    for name in ("warranty.txt", "delivery.txt"):
        (tmp_path / name).write_text(f"The {name} takes three days.")
    run("add", "warranty.txt", "delivery.txt", "--corpus", "shop", "--url", url)
    listed = {each["source_uri"]: each["source_id"] for each in json.loads(run("sources", "shop", *as_json(url))[1])}
    assert listed.keys() == {"warranty.txt", "delivery.txt"}
    assert listed["warranty.txt"] in run("sources", "shop", "--url", url)[1]
    refused = CliRunner().invoke(cli.app, ["knowledge", "remove", "shop", "--url", url], input="n\n")
    assert (refused.exit_code, "cannot be undone" in refused.output) == (1, True)
    code, output = run("remove", "shop", "--source", listed["warranty.txt"], "--yes", "--url", url)
    assert (code, output.strip()) == (0, "shop: 1 chunks removed")
    [left] = json.loads(run("sources", "shop", *as_json(url))[1])
    assert left["source_uri"] == "delivery.txt"
    assert run("remove", "shop", "--yes", "--url", url) == (0, "shop: 1 chunks removed\n")
    assert json.loads(run("list", *as_json(url))[1]) == []
    assert run("remove", "shop", "--yes", "--url", url)[0] == USAGE


def test_a_former_configuration_holds_again(url: str) -> None:
    with Client(url) as client:
        corpus = client.knowledge.create("shop")
        client.knowledge.change(corpus.corpus_id, config={"search": {"mode": "keyword"}})
        assert client.knowledge.get(corpus.corpus_id).config.search.mode == "keyword"
        code, output = run("rollback", "shop", "--version", str(corpus.version), "--url", url)
        assert (code, f"that of version {corpus.version} again" in output) == (0, True)
        assert client.knowledge.get(corpus.corpus_id).config.search == corpus.config.search
    latest, *_ = json.loads(run("versions", "shop", *as_json(url))[1])
    assert latest["restored"] == corpus.version
    assert f"version {corpus.version}" in run("versions", "shop", "--url", url)[1]


def as_json(url: str) -> tuple[str, ...]:
    return ("--json", "--url", url)


def test_pages_of_a_site_are_added_from_the_named_hosts_alone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge._console, "_width", 160)
    fetched = {"https://docs.example.org/warranty": Page("電池不在保固範圍內。".encode(), "text/plain", "warranty")}

    def fetch(address: str, *, hosts: Sequence[str], client: httpx.Client) -> Page:
        if address not in fetched:
            raise PageRefused(f"not among {hosts}")
        return fetched[address]

    monkeypatch.setattr(pages, "fetch_page", fetch)
    listed = tmp_path / "pages.txt"
    listed.write_text("https://docs.example.org/warranty\nhttp://localhost/secret\n")
    code, output = run("add-pages", str(listed), "--host", "docs.example.org", "--corpus", "site", "--url", url)
    assert code == 1
    assert output.strip().splitlines() == [
        "site: 1 failed, 1 ready",
        "  http://localhost/secret: not among ['docs.example.org']",
    ]
    code, output = run("search", "電池的保固", "--corpus", "site", "--url", url)
    assert (code, "https://docs.example.org/warranty" in output) == (0, True)
    assert run("add-pages", str(listed), "--url", url)[0] != 0  # no host is named
