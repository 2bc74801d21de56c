"""`jiyi erase`: forgets a user, or a part of their memory, in every store, and shows the receipt."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from more_itertools import chunked
from rich.console import Console
from rich.table import Table

from ..connection import connect
from ..output import Home, Json, Url, plain, print_json, progress_bar

if TYPE_CHECKING:
    from ...client.clients import Client

app = typer.Typer(
    no_args_is_help=True, help="Erases users, or parts of their memory, from every store, with a receipt."
)
_console = Console()
_PATIENCE_S = 30.0
_POLL_S = 0.3
_TOMBSTONES_AT_ONCE = 1_000

User = Annotated[str, typer.Argument(help="Whose memory.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command()
def user(
    user_id: User, yes: Yes = False, wait: Wait = True, as_json: Json = False, home: Home = None, url: Url = None
) -> None:
    """Erases everything of a user; it cannot be undone."""
    _erase({"kind": "user"}, user_id, f"everything of {user_id}", yes, wait, as_json, home, url)


@app.command()
def session(
    user_id: User,
    session_id: Annotated[str, typer.Argument(help="The session.")],
    yes: Yes = False,
    wait: Wait = True,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Erases a session, and what was learned only from it; it cannot be undone."""
    scope = {"kind": "session", "session_id": session_id}
    _erase(scope, user_id, f"the session {session_id} of {user_id}", yes, wait, as_json, home, url)


@app.command()
def item(
    user_id: User,
    item_id: Annotated[str, typer.Argument(help="Of a memory, message, entity, relation, fact or typed memory.")],
    messages: Annotated[bool, typer.Option("--messages", help="The messages that mention it, too.")] = False,
    yes: Yes = False,
    wait: Wait = True,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Erases an item, and what was learned only from it; it cannot be undone."""
    scope = {"kind": "item", "item_id": item_id, "messages": messages}
    what = f"{item_id} of {user_id}{' and the messages that mention it' if messages else ''}"
    _erase(scope, user_id, what, yes, wait, as_json, home, url)


@app.command()
def period(
    user_id: User,
    since: Annotated[str | None, typer.Option(help="Its first moment, such as 2026-03-01T00:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="The moment after its last; now, where it is not given.")] = None,
    yes: Yes = False,
    wait: Wait = True,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Erases what was said in a period, and what was learned only from it; it cannot be undone."""
    if since is None and until is None:
        raise typer.BadParameter("give --since, --until or both")
    scope = {"kind": "period"} | {name: at for name, at in (("since", since), ("until", until)) if at is not None}
    what = f"what {user_id} said from {since or 'the beginning'} until {until or 'now'}"
    _erase(scope, user_id, what, yes, wait, as_json, home, url)


@app.command()
def status(
    erasure_id: Annotated[str, typer.Argument(help="The id that the erasure was given.")],
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Shows an erasure, with its receipt once it is done."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        _show(plain(client.erasures.get(erasure_id)), as_json=as_json)


@app.command("list")
def list_erasures(as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Lists pending and finished erasures; nothing in them says whose they were."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        found = plain(client.erasures.list())["results"]
    if as_json:
        print_json(found)
        return
    table = Table("erasure", "kind", "state", "requested", "attempts", "waits for")
    for erasure in found:
        table.add_row(
            erasure["erasure_id"],
            erasure["kind"],
            erasure["state"],
            erasure["requested_at"],
            str(erasure["attempts"]),
            erasure["waits_for"] or "",
        )
    _console.print(table)


@app.command()
def tombstones(as_json: Json = True, home: Home = None, url: Url = None) -> None:
    """Prints the finished erasures in digests, always as JSON: to be kept with backups."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        print_json(plain(client.erasures.tombstones())["tombstones"])


@app.command()
def replay(
    file: Annotated[Path | None, typer.Argument(help="What `jiyi erase tombstones` printed.", exists=True)] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Erases again what a restored backup has brought back."""
    marks = json.loads(file.read_text(encoding="utf-8")) if file else []
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        pages = [*chunked(marks, _TOMBSTONES_AT_ONCE)] or [[]]
        begun = [erasure for page in pages for erasure in plain(client.erasures.replay(page))["results"]]
        done = _until_done(client, begun)
    if as_json:
        print_json(done)
        return
    for erasure in done:
        _show(erasure, as_json=False)
    _console.print(f"{len(begun)} erasures were done again.")


def _erase(
    scope: Mapping[str, Any],
    user_id: str,
    what: str,
    yes: bool,
    wait: bool,
    as_json: bool,
    home: Path | None,
    url: str | None,
) -> None:
    if not yes:
        typer.confirm(f"Erase {what}? This cannot be undone.", abort=True)
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        erasure = plain(client.erasures.erase(user_id=user_id, **scope))
        if wait:
            [erasure] = _until_done(client, [erasure])
        _show(erasure, as_json=as_json)


def _until_done(client: "Client", erasures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Waits for each; shows how many are done, and what is waited for."""
    done = []
    with progress_bar() as progress:
        task = progress.add_task("erasing", total=len(erasures))
        for erasure in erasures:
            while erasure["state"] != "done":
                time.sleep(_POLL_S)
                erasure = plain(client.erasures.get(erasure["erasure_id"]))
                waits = f"; waits for: {erasure['waits_for']}" if erasure["waits_for"] else ""
                progress.update(task, description=f"erasing{waits}")
            done.append(erasure)
            progress.advance(task)
    return done


def _show(erasure: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(erasure)
        return
    _console.print(f"erasure {erasure['erasure_id']}: {erasure['state']}", highlight=False)
    receipt = erasure["receipt"]
    if receipt is None:
        _console.print("See again with: jiyi erase status " + erasure["erasure_id"], highlight=False)
        return
    table = Table("removed", "count", caption=f"sha256 {receipt['sha256']}", caption_justify="left")
    for name, count in sorted(receipt["removed"].items()):
        if count:
            table.add_row(name, str(count))
    _console.print(table)
    left = [name for name, purged in receipt["purged"].items() if not purged]
    if left:
        _console.print(f"The servers of these free their files in time: {', '.join(left)}.", highlight=False)
