"""`jiyi facts`: what is known of a user: facts as of a time, categories, and what a prompt gets."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from memory.values.facts import Fact, FactStatus

from . import entities
from .connection import connect
from .output import Home, Json, Url, print_json

app = typer.Typer(no_args_is_help=True, help="Shows what is known of a user: facts, categories, names, context.")
app.add_typer(entities.app, name="entities")
_console = Console()
_PATIENCE_S = 30.0

User = Annotated[str, typer.Argument(help="Whose facts.")]


@app.command("list")
def list_facts(
    user_id: User,
    category: Annotated[str | None, typer.Option(help="Only facts of this category.")] = None,
    status: Annotated[FactStatus | None, typer.Option(help="As it is now; active where not given.")] = None,
    as_of: Annotated[datetime | None, typer.Option(help="What held at this time, whatever became of it.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most facts.")] = 50,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Lists facts, latest first."""
    at = None if as_of is None else as_of.astimezone()
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        listed = client.facts.list(user_id=user_id, category=category, status=status, as_of=at)
        found = [*islice(listed, limit)]
    if as_json:
        print_json(found)
    else:
        _console.print(_table(found))


@app.command()
def categories(user_id: User, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Lists categories with their summaries, highest priority first."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = client.facts.categories(user_id=user_id).results
    if as_json:
        print_json(found)
        return
    table = Table("category", "facts", "priority", "summary")
    for each in found:
        table.add_row(each.name, str(each.items), f"{each.priority:.2f}", each.summary)
    _console.print(table)


@app.command()
def context(
    user_id: User,
    max_chars: Annotated[int | None, typer.Option(min=0, help="Whole categories, as many as fit.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows what a prompt gets to know of the user; what it holds counts as used."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = client.context(user_id=user_id, max_chars=max_chars)
    if as_json:
        print_json(found)
    else:
        typer.echo(found.context)


@app.command()
def retrieve(
    user_id: User,
    query: Annotated[str, typer.Argument(help="What is asked; the latest facts where it is empty.")] = "",
    tiers: Annotated[int, typer.Option(min=1, max=3, help="1: summaries; 2: and facts; 3: and what was said.")] = 2,
    limit: Annotated[int, typer.Option(min=1, max=100, help="The most of each.")] = 10,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Retrieves in tiers: summaries, relevant facts, what was said."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = client.facts.retrieve(query, user_id=user_id, tiers=tiers, limit=limit)
    if as_json:
        print_json(found)
        return
    for category in found.categories:
        _console.print(f"{category.name}: {category.summary}", markup=False, highlight=False)
    _console.print(_table(found.items))
    for hit in found.resources:
        _console.print(f"  · {hit.text}", markup=False, highlight=False)


def _table(facts: Iterable[Fact]) -> Table:
    table = Table("subject", "predicate", "object", "category", "status", "confidence", "from", "to")
    for fact in facts:
        times = ("" if at is None else f"{at:%Y-%m-%d}" for at in (fact.valid_from, fact.valid_to))
        confidence = f"{fact.confidence:.2f}"
        table.add_row(fact.subject, fact.predicate, fact.object, fact.category, fact.status, confidence, *times)
    return table
