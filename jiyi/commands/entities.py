"""`jiyi facts entities`: the names that a user has mentioned, and their aliases."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .connection import connect
from .output import Home, Json, Url, plain, print_json

app = typer.Typer(no_args_is_help=True, help="Shows the names that a user has mentioned, and their aliases.")
_console = Console()
_PATIENCE_S = 30.0

User = Annotated[str, typer.Argument(help="Whose memory.")]


@app.command("list")
def list_entities(
    user_id: User,
    query: Annotated[str, typer.Option(help="Only those that match it; all where it is not given.")] = "",
    limit: Annotated[int, typer.Option(help="The most entities, 1 to 100.")] = 20,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Lists entities: the best match first, or the latest mentioned."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = plain(client.entities.search(query, user_id=user_id, limit=limit))["results"]
    if as_json:
        print_json(found)
        return
    table = Table("entity", "aliases", "type", "mentions", "last mentioned", "id")
    for each in found:
        names = Text(each["entity_value"]), Text(", ".join(each["aliases"]))
        mentioned = str(each["mention_count"]), each["last_mentioned"][:10]
        table.add_row(*names, each["subtype"] or each["entity_type"], *mentioned, each["entity_id"])
    _console.print(table)


@app.command()
def aliases(
    user_id: User,
    entity: Annotated[str, typer.Argument(help="Its name, an alias or its id.")],
    add: Annotated[str | None, typer.Option(help="A further name of it.")] = None,
    remove: Annotated[str | None, typer.Option(help="An alias that it loses.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows the aliases of an entity; adds or removes one."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        known = client.entities
        reply = known.get(entity, user_id=user_id)
        entity_id = reply.entity.entity_id
        if add is not None:
            reply = known.add_alias(entity_id, add, user_id=user_id)
        if remove is not None:
            reply = known.remove_alias(entity_id, remove, user_id=user_id)
    if as_json:
        print_json(reply)
        return
    found = plain(reply)
    names = ", ".join(found["entity"]["aliases"]) or "no aliases"
    _console.print(f"{found['entity']['entity_value']}: {names}", markup=False, highlight=False)
    for change_id in found["change_ids"]:
        _console.print(f"Undo it with: jiyi memories undo {change_id} --user {user_id}", markup=False, highlight=False)
