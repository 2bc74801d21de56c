"""`jiyi keys`: makes, lists, rotates and revokes API keys, in the store of a home or over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ... import service
from ..connection import connect
from ..output import Home, Json, Url, fail, plain, print_json
from . import show

if TYPE_CHECKING:
    from memory.identity.api_keys import ApiKeys

app = typer.Typer(
    no_args_is_help=True,
    help="Makes, lists, rotates, revokes API keys: in the store itself, even while the service is down, or at --url.",
)
_console = Console()
_PAGE = 1000

KeyId = Annotated[str, typer.Argument(help="The id of the key, or its prefix.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    user: Annotated[str | None, typer.Option(help="The key acts for this user alone.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="The key may do everything.")] = False,
    tenant: Annotated[str | None, typer.Option("--app", help="The app that the key belongs to.")] = None,
    days: Annotated[float | None, typer.Option(min=0.001, help="Days until it expires; never where not given.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Makes a key and shows its secret, this once. Without --user and --admin it acts for all users of its app."""
    if admin and user is not None:
        raise typer.BadParameter("Give --user or --admin, not both.")
    scope = "admin" if admin else "app" if user is None else "user"
    expires_at = datetime.now(UTC) + timedelta(days=days) if days is not None else None
    if url:
        given = {"user": user, "app": tenant, "expires_at": expires_at.isoformat() if expires_at else None}
        with connect(None, url) as client:
            issued = plain(client.keys.create(name, scope=scope, **given))
    else:
        from memory.values.access.identity import DEFAULT_APP, KeyScope

        issued = _locally(
            home,
            "create_key",
            lambda keys: keys.create(
                name, scope=KeyScope(scope), app=tenant or DEFAULT_APP, user=user, expires_at=expires_at
            ),
            name=name,
            scope=scope,
        )
    _show_issued(issued, as_json=as_json)


@app.command("list")
def list_keys(
    user: Annotated[str | None, typer.Option(help="Only keys of this user.")] = None,
    tenant: Annotated[str | None, typer.Option("--app", help="Only keys of this app.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Lists keys, revoked ones too, without their secrets."""
    if url:
        with connect(None, url) as client:
            found = plain([*client.keys.list(user=user, app=tenant, limit=_PAGE)])
    else:
        found = _locally(home, None, lambda keys: _all(keys, tenant, user))
    if as_json:
        print_json(found)
    else:
        _console.print(show.keys(found))


@app.command()
def rotate(
    key_id: KeyId,
    overlap_s: Annotated[float, typer.Option("--overlap", min=0, help="Seconds that the old secret stays valid.")] = 0,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Gives a key a new secret; its id, scope and user stay."""
    key_id = _id_of(key_id)
    if url:
        with connect(None, url) as client:
            issued = plain(client.keys.rotate(key_id, overlap_s=overlap_s))
    else:
        issued = _locally(home, "rotate_key", lambda keys: keys.rotate(key_id, overlap_s=overlap_s), key_id=key_id)
    _show_issued(issued, as_json=as_json)


@app.command()
def revoke(key_id: KeyId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Ends a key for good; a running service refuses it within seconds."""
    key_id = _id_of(key_id)
    if url:
        with connect(None, url) as client:
            key = plain(client.keys.revoke(key_id))
    else:
        key = _locally(home, "revoke_key", lambda keys: keys.revoke(key_id), key_id=key_id)
    if as_json:
        print_json(key)
    else:
        _console.print(f"Revoked: {key['prefix']} ({key['name']})", markup=False, highlight=False)


def _id_of(key: str) -> str:
    """The id in a prefix; a whole secret is refused: it would stay in the history of the shell."""
    parts = key.split("_", 2)
    if len(parts) > 2:
        raise typer.BadParameter("Give the id of the key, not its secret.")
    return parts[-1]


async def _all(keys: "ApiKeys", tenant: str | None, user: str | None) -> list[Any]:
    found = page = await keys.list(app=tenant, user=user, limit=_PAGE)
    while len(page) == _PAGE:
        page = await keys.list(app=tenant, user=user, after=page[-1].key_id, limit=_PAGE)
        found = found + page
    return found


def _locally(home: Path | None, act: str | None, work: "Callable[[ApiKeys], Awaitable[Any]]", **details: object) -> Any:
    """Does something in the store of a home; what comes back has the form of the HTTP replies."""
    from deployments.http.schemas.operations.keys import shown

    try:
        return shown(asyncio.run(service.with_keys(service.load_settings(home), act, work, **details)))
    except service.ServiceFailed as error:
        fail(str(error))


def _show_issued(issued: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(issued)
        return
    _console.print(show.keys([issued["key"]]))
    typer.echo("The secret, which cannot be shown again:")
    typer.echo(issued["secret"])
