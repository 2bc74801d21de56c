"""`jiyi users persona`: who the assistant is for a user."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..connection import connect
from ..output import USAGE, Home, Json, Url, fail, plain, print_json

app = typer.Typer(no_args_is_help=True, help="Shows and sets who the assistant is for a user.")
_console = Console()
_PATIENCE_S = 30.0

User = Annotated[str, typer.Argument(help="For whom.")]
PersonaId = Annotated[str | None, typer.Option("--persona", help="Its id, where a user has several.")]


@app.command()
def show(user_id: User, persona: PersonaId = None, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Shows what is given about the assistant, and what conversations have told since."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = plain(client.personas.get(user_id=user_id, persona_id=persona))
    _show(found, as_json=as_json)


@app.command("set")
def set_persona(
    user_id: User,
    persona: PersonaId = None,
    name: Annotated[str | None, typer.Option(help="What it is called.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Another name; may be given again.")] = None,
    fact: Annotated[list[str] | None, typer.Option(help="A sentence about it; may be given again.")] = None,
    style: Annotated[str | None, typer.Option(help="How it speaks: the name of a style, or an instruction.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Sets who the assistant is, in place of what was given before; what conversations have told stays."""
    if name is None and style is None and not alias and not fact:
        fail("Give --name, --alias, --fact or --style.", code=USAGE)
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        given = client.personas.put(
            user_id=user_id, persona_id=persona, name=name, aliases=alias or None, facts=fact or None, style=style
        )
        found = plain(given)
    _show(found, as_json=as_json)


def _show(persona: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(persona)
        return
    profile = persona["profile"]
    table = Table("", "", show_header=False)
    table.add_row("persona", profile["persona_id"])
    table.add_row("name", Text(profile["name"] or ""))
    table.add_row("aliases", Text(", ".join(profile["aliases"])))
    table.add_row("facts", Text("\n".join(profile["facts"])))
    table.add_row("style", Text(profile["style"] or "by the message"))
    table.add_row("learned", Text("\n".join(f"{each['predicate']}: {each['object']}" for each in persona["learned"])))
    _console.print(table)
