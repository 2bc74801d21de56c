"""`jiyi jobs`: the runs of all background work: lists, shows, follows, retries and cancels them."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..connection import connect
from ..output import Home, Json, Url, plain, print_json, progress_bar

if TYPE_CHECKING:
    from ...client.clients import Client

app = typer.Typer(
    no_args_is_help=True, help="Runs of all background work: what waits, what is in progress, what failed and why."
)
_console = Console()
_PATIENCE_S = 60.0
_STYLES = {"completed": "green", "running": "yellow", "failed": "red", "queued": "cyan", "cancelled": "magenta"}
"""The colours of 004 §11.4, and of the states that it does not name."""
_ERROR_CHARACTERS = 60

RunId = Annotated[str, typer.Argument(help="The id of the run, as `jiyi jobs list` shows it.")]


@app.command("list")
def list_jobs(
    kind: Annotated[list[str] | None, typer.Option(help="Only runs of this kind; may be given again.")] = None,
    status: Annotated[
        list[str] | None, typer.Option(help="queued, running, completed, failed or cancelled; may be given again.")
    ] = None,
    tenant: Annotated[str | None, typer.Option("--app", help="Only runs of this app.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Asked for at this time or later.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Asked for before this time.")] = None,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Runs of a page.")] = 20,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Lists runs, latest first."""
    times = {name: time.astimezone().isoformat() for name, time in (("since", since), ("until", until)) if time}
    given: dict[str, Any] = {"kind": kind, "status": status, "app": tenant, "cursor": cursor, "limit": limit, **times}
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        page = plain(client.runs.list(**given).first())
    if as_json:
        print_json(page)
        return
    _console.print(show_list(page["results"]))
    if page["next"]:
        _console.print(f"More: jiyi jobs list --cursor {page['next']}", highlight=False, markup=False)


@app.command()
def show(run_id: RunId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Shows a run with its input, output, error and stack."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        _show(plain(client.runs.get(run_id)), as_json=as_json)


@app.command()
def follow(run_id: RunId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Follows a run to its end; exit code 1 where it does not end well. With --json a line an event."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        last = _follow_lines(client, run_id) if as_json else _follow_bar(client, run_id)
    if not as_json:
        _console.print(show_run(last))
    if last["status"] != "completed":
        raise typer.Exit(1)


@app.command()
def retry(run_id: RunId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Starts a run with the same input as one that failed or was cancelled."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        _show(plain(client.runs.retry(run_id)), as_json=as_json)


@app.command()
def cancel(run_id: RunId, as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Cancels a run; one in progress stops at the next point where it can, and what is done stays done."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        _show(plain(client.runs.cancel(run_id)), as_json=as_json)


def show_list(results: list[dict[str, Any]]) -> RenderableType:
    """Renders runs as a table."""
    table = Table(pad_edge=False)
    for name in ("run", "kind", "app"):
        table.add_column(name, overflow="fold")
    table.add_column("status")
    table.add_column("done", justify="right")
    table.add_column("asked for")
    table.add_column("took", justify="right")
    table.add_column("error", overflow="ellipsis", no_wrap=True)
    for run in results:
        table.add_row(
            run["run_id"],
            run["kind"],
            run["app"] or "service",
            _status(run),
            f"{run['done']}/{run['total']}",
            _time(run["queued_at"] or run["started_at"]),
            "" if run["duration_s"] is None else f"{run['duration_s']:.1f} s",
            Text((run["error"] or "").split("\n")[0][:_ERROR_CHARACTERS]),
        )
    return table


def show_run(run: Mapping[str, Any]) -> RenderableType:
    """Renders all of a run."""
    table = Table("", "", show_header=False, pad_edge=False)
    table.add_row("run", run["run_id"])
    table.add_row("kind", f"{run['kind']}, of {run['app'] or 'the service'}")
    table.add_row("status", _status(run))
    table.add_row("done", f"{run['done']} of {run['total']}")
    for name in ("queued_at", "started_at", "ended_at"):
        if run[name]:
            table.add_row(name.replace("_", " "), _time(run[name]))
    if run["duration_s"] is not None:
        table.add_row("took", f"{run['duration_s']:.1f} s, attempt {run['attempts']}")
    if run["retry_of"]:
        table.add_row("retry of", run["retry_of"])
    for name in ("input", "output"):
        table.add_row(name, Text(json.dumps(run[name], ensure_ascii=False, indent=2)))
    parts: list[RenderableType] = [table]
    if run["error"]:
        parts.append(Text(run["error"], style="red" if run["status"] == "failed" else ""))
    if run["stack"]:
        parts.append(Text(run["stack"], style="dim"))
    return Group(*parts)


def _follow_lines(client: "Client", run_id: str) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for event in client.runs.follow(run_id):
        data = plain(event.run)
        typer.echo(json.dumps({"event": event.name, **data}, ensure_ascii=False))
    return data


def _follow_bar(client: "Client", run_id: str) -> dict[str, Any]:
    data: dict[str, Any] = {}
    with progress_bar() as progress:
        task = progress.add_task("")
        for event in client.runs.follow(run_id):
            data = plain(event.run)
            progress.update(
                task,
                description=f"{data['kind']} {data['status']}",
                total=max(data["total"], data["done"], 1),
                completed=data["done"],
            )
    return data


def _show(run: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(run)
    else:
        _console.print(show_run(run))


def _status(run: Mapping[str, Any]) -> Text:
    stops = " (stops)" if run["cancel_requested"] and run["status"] == "running" else ""
    return Text(f"{run['status']}{stops}", style=_STYLES[run["status"]])


def _time(time: str | None) -> str:
    return "" if time is None else f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M:%S}"
