"""`jiyi knowledge graph`: builds, shows and asks the graph of a corpus."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..connection import connect
from ..output import Home, Json, Url, plain, print_json
from .corpora import known_corpus

if TYPE_CHECKING:
    from ...client.clients import Client

app = typer.Typer(no_args_is_help=True, help="Builds the graph of a corpus, and asks it.")
_console = Console()
_PATIENCE_S = 60.0
_TIMEOUT_S = 300.0

Name = Annotated[str, typer.Argument(help="Name of a node.")]
Corpus = Annotated[str, typer.Argument(help="Name of the corpus.")]


@app.command()
def build(
    corpus: Corpus,
    full: Annotated[bool, typer.Option(help="Extract everything again, not only what changed.")] = False,
    strategy: Annotated[str | None, typer.Option(help="patterns, reader or model.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Builds a version, and shows it when it is ready. Ends with 1 where it fails."""
    with _connect(home, url) as client:
        begun = client.graphs.build(known_corpus(client, corpus), full=full, strategy=strategy)
        for _ in client.runs.follow(begun.run_id):
            pass
        run = plain(client.runs.get(begun.run_id))
    if as_json:
        print_json(run)
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
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows the largest nodes and the edges between them."""
    with _connect(home, url) as client:
        found = plain(client.graphs.view(known_corpus(client, corpus), limit=limit))
    _show(found, limit, as_json=as_json)


@app.command()
def find(corpus: Corpus, name: Name, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Finds nodes by name, alias or beginning of a name."""
    with _connect(home, url) as client:
        found = plain(client.graphs.find(known_corpus(client, corpus), name))
    if as_json:
        print_json(found)
        return
    _print_nodes(each["node"] for each in found["results"])


@app.command()
def neighbours(
    corpus: Corpus,
    name: Name,
    hops: Annotated[int, typer.Option(min=1, max=2, help="How far from it.")] = 1,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most neighbours.")] = 20,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows what a node is joined with."""
    with _connect(home, url) as client:
        corpus_id = known_corpus(client, corpus)
        node_id = _node_id(client, corpus_id, name)
        found = plain(client.graphs.neighbours(corpus_id, node_id, hops=hops, limit=limit))
    _show(found, limit, as_json=as_json)


@app.command()
def path(corpus: Corpus, source: Name, target: Name, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Shows the shortest ways from one name to another. Ends with 1 where there is none."""
    with _connect(home, url) as client:
        corpus_id = known_corpus(client, corpus)
        ends = [_node_id(client, corpus_id, name) for name in (source, target)]
        found = plain(client.graphs.paths(corpus_id, *ends))
    if as_json:
        print_json(found)
    for way in () if as_json else found["results"]:
        _say(" - ".join(node["name"] for node in way["nodes"]))
    if not found["results"]:
        raise typer.Exit(1)


@app.command()
def versions(corpus: Corpus, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Lists the versions; that which is shown has a star."""
    with _connect(home, url) as client:
        found = plain(client.graphs.versions(known_corpus(client, corpus)))
    if as_json:
        print_json(found)
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
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows an earlier version, or any that is ready."""
    with _connect(home, url) as client:
        corpus_id = known_corpus(client, corpus)
        shown = client.graphs.roll_back(corpus_id) if to is None else client.graphs.activate(corpus_id, to)
    if as_json:
        print_json(shown)
    else:
        _say(f"{corpus}: version {shown.version} is shown")


def _show(found: dict[str, Any], limit: int, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    names = {node["node_id"]: node["name"] for node in found["nodes"]}
    _print_nodes(found["nodes"])
    for edge in found["edges"][:limit]:
        _say(f"{edge['weight']:6.2f}  {names[edge['source_id']]} | {edge['type']} | {names[edge['target_id']]}")


def _print_nodes(nodes: Iterable[dict[str, Any]]) -> None:
    for node in nodes:
        _say(f"{node['chunks']:6d}  {node['name']}  {node['kind'] or ''}".rstrip())


def _node_id(client: "Client", corpus_id: str, name: str) -> str:
    found = client.graphs.find(corpus_id, name, limit=1).results
    if not found:
        raise typer.BadParameter(f"The graph has no node {name!r}.")
    return found[0].node.node_id


def _connect(home: Path | None, url: str | None) -> "Client":
    return connect(home, url, patience_s=_PATIENCE_S, timeout_s=_TIMEOUT_S)


def _say(line: str) -> None:
    _console.print(line, markup=False, highlight=False)
