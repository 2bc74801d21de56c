"""`jiyi users`: who has something in the store of a home, and how much is kept of one."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ... import service
from ..connection import connect
from ..output import Home, Json, Url, fail, print_json
from . import personas

app = typer.Typer(
    no_args_is_help=True, help="Lists users, and shows what is kept of one; erase one with: jiyi erase user"
)
app.add_typer(personas.app, name="persona")
_console = Console()
_PATIENCE_S = 30.0
_PAGE = 1000


@app.command("list")
def list_users(
    tenant: Annotated[str | None, typer.Option("--app", help="Only users of this app.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Lists users: those of every app, from the store of a home itself, or with --url those of the credential's app."""
    if url:
        with connect(None, url) as client:
            shown: list[dict[str, str]] = [{"user": each.user_id} for each in client.users.list(limit=_PAGE)]
    else:
        shown = [{"app": of, "user": user} for of, user in _stored(home) if tenant in (None, of)]
    if as_json:
        print_json(shown)
        return
    table = Table(*("user",) if url else ("app", "user"))
    for each in shown:
        table.add_row(*each.values())
    _console.print(table)


@app.command()
def show(
    user_id: Annotated[str, typer.Argument(help="User id.")], as_json: Json = False, home: Home = None, url: Url = None
) -> None:
    """Shows how much is kept of a user, and what was mentioned last."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        kept = client.memories.preview_policy(user_id=user_id, samples=0)
        categories = client.facts.categories(user_id=user_id).results
        recent = client.entities.recent(user_id=user_id).results
        policy = client.memories.policy(user_id=user_id)
    summary = {
        "user": user_id,
        "memories": kept.memories.total,
        "facts": kept.facts.total,
        "categories": {each.name: each.items for each in categories},
        "mentioned_last": [entity.entity_value for entity in recent],
        "policy": policy,
    }
    if as_json:
        print_json(summary)
        return
    table = Table("", "", show_header=False)
    for name, value in summary.items():
        if name != "policy":
            table.add_row(name.replace("_", " "), _text(value))
    table.add_row("policy", f"{policy.policy.decay_rate:g} a day (of: {policy.source})")
    _console.print(table)


def _stored(home: Path | None) -> list[tuple[str, str]]:
    try:
        return asyncio.run(service.users(service.load_settings(home)))
    except service.ServiceFailed as error:
        fail(str(error))


def _text(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {count}" for name, count in value.items())
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)
