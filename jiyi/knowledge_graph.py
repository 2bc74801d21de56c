"""`jiyi knowledge graph`: builds, shows and asks the graph of a corpus."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .client import JiyiClient
from .connection import connect
from .corpora import known_corpus

app = typer.Typer(no_args_is_help=True, help="Builds the graph of a corpus, and asks it.")
_console = Console()
_PATIENCE_S = 60.0
_TIMEOUT_S = 300.0

Home = Annotated[Path | None, typer.Option(help="Data folder; JIYI_HOME, else ~/.jiyi.")]
Url = Annotated[str | None, typer.Option(help="Base URL; the service of the data folder where not given.")]
Corpus = Annotated[str, typer.Argument(help="Name of the corpus.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def build(
    corpus: Corpus,
    full: Annotated[bool, typer.Option(help="Extract everything again, not only what changed.")] = False,
    strategy: Annotated[str | None, typer.Option(help="patterns, reader or model.")] = None,
    as_json: AsJson = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Builds a version, and shows it when it is ready. Ends with 1 where it fails."""
    with _connect(home, url) as client:
        options = {"full": full, **({"strategy": strategy} if strategy else {})}
        run = client.build_graph(known_corpus(client, corpus), **options)
        for event, data in client.follow_pipeline(run["run_id"]):
            if event == "end":
                run = data
    if as_json:
        _print(run)
    elif run["status"] == "completed":
        made = run["output"]
        _say(
            f"{corpus}: version {made['version']}, {made['nodes']} nodes, {made['edges']} edges;"
            f" {made['extracted']} of {made['chunks']} chunks read in {made['seconds']:.1f} s"
        )
    else:
        _console.print(f"{corpus}: {run['error']}", style="red", markup=False, highlight=False)
    if run["status"] != "completed":
        raise typer.Exit(1)


@app.command()
def show(
    corpus: Corpus,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most nodes.")] = 20,
    as_json: AsJson = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows the largest nodes and the edges between them."""
    _show(corpus, "", as_json, home, url, limit=limit)


@app.command()
def find(corpus: Corpus, name: str, as_json: AsJson = False, home: Home = None, url: Url = None) -> None:
    """Finds nodes by name, alias or beginning of a name."""
    with _connect(home, url) as client:
        found = client.graph(known_corpus(client, corpus), "/nodes", name=name)
    if as_json:
        _print(found)
        return
    _print_nodes(each["node"] for each in found["results"])


@app.command()
def neighbours(
    corpus: Corpus,
    name: str,
    hops: Annotated[int, typer.Option(min=1, max=2)] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most neighbours.")] = 20,
    as_json: AsJson = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows what a node is joined with."""
    with _connect(home, url) as client:
        part = f"/nodes/{_node_id(client, corpus, name)}/neighbours"
    _show(corpus, part, as_json, home, url, hops=hops, limit=limit)


@app.command()
def path(corpus: Corpus, source: str, target: str, as_json: AsJson = False, home: Home = None, url: Url = None) -> None:
    """Shows the shortest ways from one name to another. Ends with 1 where there is none."""
    with _connect(home, url) as client:
        ends = {"source": _node_id(client, corpus, source), "target": _node_id(client, corpus, target)}
        found = client.graph(known_corpus(client, corpus), "/paths", **ends)
    if as_json:
        _print(found)
    for way in () if as_json else found["results"]:
        _say(" - ".join(node["name"] for node in way["nodes"]))
    if not found["results"]:
        raise typer.Exit(1)


@app.command()
def versions(corpus: Corpus, as_json: AsJson = False, home: Home = None, url: Url = None) -> None:
    """Lists the versions; that which is shown has a star."""
    with _connect(home, url) as client:
        found = client.graph(known_corpus(client, corpus), "/versions")
    if as_json:
        _print(found)
        return
    table = Table()
    for column in ("version", "state", "strategy", "nodes", "edges", "created"):
        table.add_column(column, justify="right" if column in ("version", "nodes", "edges") else "left")
    for each in found["results"]:
        number = f"{each['version']}{'*' if each['active'] else ''}"
        counts = (str(each["node_count"]), str(each["edge_count"]))
        table.add_row(number, each["state"], each["strategy"], *counts, each["created_at"][:19])
    _console.print(table)


@app.command()
def rollback(
    corpus: Corpus,
    to: Annotated[int | None, typer.Option(min=1, help="Version; default: the one before.")] = None,
    as_json: AsJson = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows an earlier version, or any that is ready."""
    with _connect(home, url) as client:
        act = "rollback" if to is None else f"versions/{to}/activate"
        shown = client.change_graph(known_corpus(client, corpus), act)
    if as_json:
        _print(shown)
    else:
        _say(f"{corpus}: version {shown['version']} is shown")


def _show(corpus: str, part: str, as_json: bool, home: Path | None, url: str | None, **params: Any) -> None:
    with _connect(home, url) as client:
        found = client.graph(known_corpus(client, corpus), part, **params)
    if as_json:
        _print(found)
        return
    names = {node["node_id"]: node["name"] for node in found["nodes"]}
    _print_nodes(found["nodes"])
    for edge in found["edges"][: params["limit"]]:
        _say(f"{edge['weight']:6.2f}  {names[edge['source_id']]} | {edge['type']} | {names[edge['target_id']]}")


def _print_nodes(nodes: Iterable[dict[str, Any]]) -> None:
    for node in nodes:
        _say(f"{node['chunks']:6d}  {node['name']}  {node['kind'] or ''}".rstrip())


def _node_id(client: JiyiClient, corpus: str, name: str) -> str:
    found = client.graph(known_corpus(client, corpus), "/nodes", name=name, limit=1)["results"]
    if not found:
        raise typer.BadParameter(f"The graph has no node {name!r}.")
    return str(found[0]["node"]["node_id"])


def _connect(home: Path | None, url: str | None) -> JiyiClient:
    return connect(home, url, patience_s=_PATIENCE_S, timeout_s=_TIMEOUT_S)


def _print(reply: dict[str, Any]) -> None:
    typer.echo(json.dumps(reply, ensure_ascii=False, indent=2))


def _say(line: str) -> None:
    _console.print(line, markup=False, highlight=False)
