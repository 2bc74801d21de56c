"""`jiyi review`, `job`, `reembed` and `jiyi index`: work over everybody's memory, followed to its end."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType

from memory.ports.jobs import MaintenanceKind

from ... import service
from ..connection import connect
from ..output import FAILED, USAGE, Home, Json, Url, fail, plain, print_json, progress_bar
from . import runs

if TYPE_CHECKING:
    from ...client.clients import Client

app = typer.Typer()
index = typer.Typer(no_args_is_help=True, help="Checks, repairs and rebuilds the vector index.")
app.add_typer(index, name="index")
_console = Console()
_PATIENCE_S = 60.0
_DOWNLOAD_S = 900.0
"""Seconds that a service on another machine may take to download a model's weights."""


@app.command()
def review(
    user: Annotated[str | None, typer.Option(help="Only this user's memory; everybody's where not given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, change nothing.")] = False,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Reviews what is remembered: archives what is rarely used, marks what may be out of date."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        run = _follow(runs.follow_review, client, plain(client.review.start(user_id=user, dry_run=dry_run)))
    _end(run, runs.show_review, as_json=as_json, is_well=run["state"] == "done")


@app.command()
def job(
    kind: Annotated[MaintenanceKind, typer.Argument(help="Which job over facts to do now.")],
    user: Annotated[str | None, typer.Option(help="Only this user's facts; everybody's where not given.")] = None,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Keeps facts in order: merges and summarises (nightly), ages and archives (weekly), builds anew (monthly)."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        run = _follow(runs.follow_job, client, plain(client.facts.start_job(kind.value, user_id=user)))
    _end(run, runs.show_job, as_json=as_json, is_well=run["state"] == "done")


@app.command()
def reembed(
    to: Annotated[str | None, typer.Option(help="Embed everything with this model, then switch to it.")] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Go back to the previous model.")] = False,
    finish: Annotated[bool, typer.Option("--finish", help="Drop the vectors of the previous model.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Follow the current run, or show the last one.")] = False,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Changes the model of all vectors while the service runs; the run continues when this command is interrupted."""
    if [to is not None, rollback, finish, status].count(True) != 1:
        fail("Give one of --to MODEL, --rollback, --finish, --status.", code=USAGE)
    if to is not None and url is None:
        service.prepare(service.load_settings(home), to)
    with connect(home, url, patience_s=_PATIENCE_S, timeout_s=_DOWNLOAD_S) as client:
        run: runs.Run | None
        if to is not None:
            run = plain(client.index.reembed(to))
        elif status:
            run = plain(client.index.reembedding())
        else:
            run = plain(client.index.roll_back() if rollback else client.index.finish())
        if run is None:
            _nothing("The model was never changed.", as_json=as_json)
            return
        run = _follow(runs.follow_reembedding, client, run)
    _end(run, runs.show_reembedding, as_json=as_json, is_well=run["state"] == "done")


@index.command()
def verify(
    mend: Annotated[bool, typer.Option("--mend", help="Repair what is missing, stale or orphaned.")] = False,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Compares the index with the system of record; exit code 1 where they differ and nothing was repaired."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        _show_run_over_index(client, client.index.verify(mend=mend), as_json=as_json)


@index.command()
def rebuild(
    discard: Annotated[
        bool, typer.Option("--discard", help="Set damaged index files aside, with the service stopped.")
    ] = False,
    as_json: Json = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Rebuilds every point of the index from the system of record; searches are answered meanwhile."""
    if not discard:
        with connect(home, url, patience_s=_PATIENCE_S) as client:
            _show_run_over_index(client, client.index.rebuild(), as_json=as_json)
        return
    try:
        folders = service.discard_index(service.load_settings(home))
    except service.ServiceFailed as error:
        fail(str(error))
    if as_json:
        print_json({"set_aside": folders})
        return
    for folder in folders:
        _console.print(f"Set aside: {folder}", soft_wrap=True, highlight=False)
    _console.print("The index is empty. It is rebuilt after: jiyi up")


@index.command("status")
def index_status(as_json: Json = False, home: Home = None, url: Url = None) -> None:
    """Follows the current run over the index to its end, or shows the last one."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        _show_run_over_index(client, client.index.status(), as_json=as_json)


def _show_run_over_index(client: "Client", begun: Any, *, as_json: bool) -> None:
    """Follows a run, or the last one, to its end and shows what it found."""
    run: runs.Run | None = plain(begun)
    if run is None:
        _nothing("There was no run over the index since the learner started.", as_json=as_json)
        return
    run = _follow(runs.follow_index_run, client, run)
    _end(run, runs.show_index_run, as_json=as_json, is_well=runs.index_is_sound(run))


def _follow(follow: Callable[["Client", runs.Run, Any], runs.Run], client: "Client", run: runs.Run) -> runs.Run:
    """Shows the progress of a run and returns its last state."""
    try:
        with progress_bar() as progress:
            return follow(client, run, progress)
    except runs.RunLost as error:
        fail(str(error))


def _end(run: runs.Run, show: Callable[[runs.Run], RenderableType], *, as_json: bool, is_well: bool) -> None:
    if as_json:
        print_json(run)
    else:
        _console.print(show(run))
    if not is_well:
        raise typer.Exit(FAILED)


def _nothing(message: str, *, as_json: bool) -> None:
    if as_json:
        print_json(None)
    else:
        _console.print(message)
