"""`jiyi knowledge`: what a corpus holds, removing of it, and former versions of its configuration."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..connection import connect
from ..output import Home, Json, Url, plain, print_json
from .corpora import known_corpus

app = typer.Typer()
_console = Console()
_PATIENCE_S = 60.0

Corpus = Annotated[str, typer.Argument(help="Name of the corpus.")]


@app.command()
def sources(corpus: Corpus, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Lists the documents of a corpus with their ids."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = plain([*client.knowledge.sources(known_corpus(client, corpus))])
    if as_json:
        print_json(found)
        return
    table = Table("source", "document", "version", "chunks")
    for source in found:
        counts = str(source["version"]), str(source["chunk_count"])
        table.add_row(source["source_id"], Text(source["source_uri"]), *counts)
    _console.print(table)


@app.command()
def remove(
    corpus: Corpus,
    source: Annotated[str | None, typer.Option(help="Only the document with this id; `sources` shows it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Removes a corpus with all that is in it, or one of its documents; it cannot be undone."""
    what = f"the corpus {corpus} with all that is in it" if source is None else f"{source} of the corpus {corpus}"
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        corpus_id = known_corpus(client, corpus)
        if not yes:
            typer.confirm(f"Remove {what}? This cannot be undone.", abort=True)
        kept = client.knowledge
        removed = plain(kept.delete(corpus_id) if source is None else kept.delete_source(corpus_id, source))
    if as_json:
        print_json(removed)
        return
    _console.print(f"{corpus}: {removed['chunks']} chunks removed", markup=False, highlight=False)


@app.command()
def versions(corpus: Corpus, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Lists the versions of the configuration, latest first."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = plain(client.knowledge.versions(known_corpus(client, corpus)))["results"]
    if as_json:
        print_json(found)
        return
    table = Table("version", "made", "again", "mode of search")
    for each in found:
        again = "" if each["restored"] is None else f"version {each['restored']}"
        table.add_row(str(each["version"]), each["created_at"][:16], again, each["config"]["search"]["mode"])
    _console.print(table)


@app.command()
def rollback(
    corpus: Corpus,
    version: Annotated[int, typer.Option(min=1, help="Which version of the configuration holds again.")],
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Restores a former configuration of a corpus, as a new version; its documents stay."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        restored = plain(client.knowledge.roll_back(known_corpus(client, corpus), version))
    if as_json:
        print_json(restored)
        return
    _console.print(f"{corpus}: the configuration is that of version {version} again", markup=False, highlight=False)
