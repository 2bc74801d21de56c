"""`jiyi knowledge`: puts files, folders and pages of a site into a corpus of the knowledge base, and searches it."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..connection import connect
from ..output import FAILED, Home, Json, Url, plain, print_json, progress_bar
from . import contents
from . import graph as knowledge_graph
from .corpora import corpus_id_of, known_corpus

if TYPE_CHECKING:
    from deployments.http.schemas.knowledge.bases import IngestedList

    from ...client.clients import Client

app = typer.Typer(no_args_is_help=True, help="Puts documents into the knowledge base, searches and removes them.")
app.add_typer(contents.app)
app.add_typer(knowledge_graph.app, name="graph")
_console = Console()
_PATIENCE_S = 60.0
_TIMEOUT_S = 300.0
_PAGE_TIMEOUT_S = 30.0
_SHOWN_CHARACTERS = 200

Corpus = Annotated[str, typer.Option(help="Name of the corpus.")]


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files and folders, with all that is in them.")],
    corpus: Corpus = "documents",
    metadata: Annotated[str, typer.Option(help="A JSON object that each document gets.")] = "{}",
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Ingests files into a corpus, which is made where there is none; what did not change is skipped.

    A file is known by its path as it is given here. Ends with 1 where a file failed; the others are ingested.
    """
    files = [*dict.fromkeys(file for path in paths for file in _files(path))]
    given = _object(metadata)

    def ingest(client: "Client", corpus_id: str, name: str) -> tuple[str, str]:
        path = Path(name)
        taken = client.knowledge.ingest_file(
            corpus_id, path.read_bytes(), name=path.name, source_uri=name, metadata=given
        )
        return _became_of(taken)

    _add([file.as_posix() for file in files], ingest, corpus=corpus, as_json=as_json, home=home, url=url)


@app.command(name="add-pages")
def add_pages(
    addresses: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A sitemap, or a file with one address a line.")
    ],
    host: Annotated[list[str], typer.Option(help="A host from which pages may be fetched; repeat it for several.")],
    corpus: Corpus = "documents",
    metadata: Annotated[str, typer.Option(help="A JSON object that each page gets.")] = "{}",
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Fetches the pages of a site and ingests them; what did not change is skipped.

    Nothing is fetched from a host that is not named, also where a page redirects there. Ends with 1 where one failed.
    """
    import httpx  # not needed by other commands

    from . import pages

    given = _object(metadata)
    with httpx.Client(timeout=_PAGE_TIMEOUT_S, headers={"user-agent": "jiyi"}) as fetching:

        def ingest(client: "Client", corpus_id: str, address: str) -> tuple[str, str]:
            try:
                page = pages.fetch_page(address, hosts=host, client=fetching)
            except pages.PageRefused as error:
                return "failed", str(error)
            taken = client.knowledge.ingest_file(
                corpus_id,
                page.content,
                name=page.name,
                media_type=page.media_type,
                source_uri=address,
                metadata=given,
            )
            return _became_of(taken)

        _add(pages.read_addresses(addresses), ingest, corpus=corpus, as_json=as_json, home=home, url=url)


def _add(
    names: Sequence[str],
    ingest: Callable[["Client", str, str], tuple[str, str]],
    *,
    corpus: str,
    as_json: bool,
    home: Path | None,
    url: str | None,
) -> None:
    """Ingests documents by name, counts what became of them, and says which failed.

    `ingest` gives the state of a document, and the reason where it failed.
    """
    states: dict[str, int] = {}
    failed: list[tuple[str, str]] = []
    with connect(home, url, patience_s=_PATIENCE_S, timeout_s=_TIMEOUT_S) as client, progress_bar() as progress:
        corpus_id = corpus_id_of(client, corpus) or client.knowledge.create(corpus).corpus_id
        task = progress.add_task(corpus, total=len(names))
        for name in names:
            state, reason = ingest(client, corpus_id, name)
            states[state] = states.get(state, 0) + 1
            if state == "failed":
                failed.append((name, reason))
            progress.advance(task)
    if as_json:
        print_json({"corpus": corpus, "corpus_id": corpus_id, "states": states, "failed": dict(failed)})
        raise typer.Exit(FAILED if failed else 0)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "no documents"
    _console.print(f"{corpus}: {counts}", markup=False, highlight=False)
    for name, reason in failed:
        _console.print(f"  {name}: {reason}", style="red", markup=False, highlight=False)
    if failed:
        raise typer.Exit(1)


def _became_of(taken: "IngestedList") -> tuple[str, str]:
    [source] = taken.results
    return "skipped" if source.skipped else source.state.value, source.error or ""


@app.command(name="list")
def list_corpora(as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Lists the corpora."""
    with connect(home, url, patience_s=_PATIENCE_S, timeout_s=_TIMEOUT_S) as client:
        corpora = client.knowledge.corpora().results
    if as_json:
        print_json(corpora)
        return
    table = Table()
    for column in ("corpus", "chunks", "mode", "description"):
        table.add_column(column, justify="right" if column == "chunks" else "left")
    for found in corpora:
        table.add_row(found.name, str(found.chunk_count), found.config.search.mode, found.description)
    _console.print(table)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What is asked.")],
    corpus: Annotated[list[str] | None, typer.Option(help="Name of a corpus; default: all.")] = None,
    mode: Annotated[str | None, typer.Option(help="semantic, keyword, hybrid or rrf.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The most results.")] = 5,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Searches corpora."""
    with connect(home, url, patience_s=_PATIENCE_S, timeout_s=_TIMEOUT_S) as client:
        ids = [known_corpus(client, name) for name in corpus] if corpus else None
        reply = plain(client.knowledge.search(query, corpus_ids=ids, mode=mode, limit=limit))
    if as_json:
        print_json(reply)
        return
    for hit in reply["results"]:
        _console.print(_line(hit), markup=False, highlight=False)
        _console.print(f"  {hit['content'][:_SHOWN_CHARACTERS]}", markup=False, highlight=False)


def _line(hit: dict[str, Any]) -> str:
    """Where a chunk stands: the document, its page and its headings."""
    page = () if hit["page"] is None else (f"p. {hit['page']}",)
    place = " · ".join((hit["source_uri"], *page, *hit["headings"]))
    return f"{hit['score']:.3f}  {place}"


def _files(path: Path) -> Iterator[Path]:
    """The file, or the files in the folder and below, sorted, without those whose names begin with a dot."""
    if path.is_file():
        yield path
        return
    for inner in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in inner.relative_to(path).parts)
        if inner.is_file() and not hidden:
            yield inner


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise typer.BadParameter("--metadata must be a JSON object.")
    return value
