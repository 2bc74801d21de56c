"""The command line: the service of this machine, and what a user asks of any."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deployments.config.private_files import keep_private
from memory.portability.foreign.readers import ForeignFormat
from memory.ports.jobs import MaintenanceKind

from . import account, encryption, erasing, importing, jobs, keys, knowledge, memories, runs, service, show
from .connection import connect
from .conversations import read_conversations
from .errors import ClientError, Unreachable
from .output import FAILED, NOT_REACHABLE, USAGE, fail, plain, print_error

if TYPE_CHECKING:
    from .client.clients import Client

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Memory for chat agents."
)
index = typer.Typer(no_args_is_help=True, help="Checks, repairs and rebuilds the vector index.")
app.add_typer(index, name="index")
app.add_typer(keys.app, name="keys")
app.add_typer(encryption.app, name="encryption")
app.add_typer(erasing.app, name="erase")
app.add_typer(memories.app, name="memories")
app.add_typer(jobs.app, name="jobs")
app.add_typer(knowledge.app, name="knowledge")
_console = Console()
_PATIENCE_S = 60.0
_ROOT_WARNING = "Running as root: a fault of the service is a fault of the whole machine. Use --user NAME."
_DOWNLOAD_S = 900.0
"""Seconds that a service on another machine may take to download a model's weights."""
_TRANSFER_S = 900.0
"""Seconds until an export begins to come, or an import is written."""

Home = Annotated[Path | None, typer.Option(help="Data folder; JIYI_HOME, else ~/.jiyi.")]
Config = Annotated[
    Path | None, typer.Option("--config", exists=True, dir_okay=False, help="Settings in a config file of Ray Serve.")
]
Url = Annotated[str | None, typer.Option(help="Base URL; the service of the data folder where not given.")]


@app.command()
def up(
    home: Home = None,
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; the file's, else 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(envvar="JIYI_PORT", help="Port; the file's, else 8000.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait until it is ready.")] = 300,
    user: Annotated[str | None, typer.Option(help="Account to run as, where root starts it.")] = None,
) -> None:
    """Starts the service in the background and waits until it is ready."""
    file = service.read_config(config) if config else None
    if user:
        home = home.absolute() if home else None
        _become(user)
    settings = service.load_settings(home, file.args if file else None)
    if user:
        _check_writable(user, settings.data_home, settings.model_cache)
    if endpoint := service.find(settings):
        _console.print(f"Already running: {endpoint.url}")
        return
    if os.geteuid() == 0:
        _console.print(_ROOT_WARNING, style="yellow", soft_wrap=True)
    host = host or (file.host if file else service.DEFAULT_HOST)
    service.check_address(settings, host)
    try:
        service.check_encryption(settings)
        service.prepare(settings)
        with _console.status("Starting …") as status:
            endpoint = service.start(
                settings,
                host=host,
                port=port or (file.port if file else service.DEFAULT_PORT),
                timeout_s=timeout,
                on_wait=lambda seconds: status.update(f"Starting … {seconds:.0f} s"),
            )
    except service.ServiceFailed as error:
        fail(str(error))
    _console.print(show.welcome(endpoint.url, settings.data_home), soft_wrap=True, highlight=False)
    if warning := service.open_warning(settings):
        _console.print(f"Warning: {warning}", style="yellow", soft_wrap=True, highlight=False, markup=False)


@app.command()
def down(home: Home = None, timeout: float = 120) -> None:
    """Stops the service: current requests finish, all data are kept."""
    try:
        stopped = service.stop(service.load_settings(home), timeout_s=timeout)
    except service.ServiceFailed as error:
        fail(str(error))
    _console.print("Stopped." if stopped else "Not running.")


@app.command()
def status(
    home: Home = None, memory: Annotated[bool, typer.Option(help="Show the memory of each process.")] = False
) -> None:
    """Shows the state of the service and of its parts."""
    settings = service.load_settings(home)
    endpoint = service.find(settings)
    if endpoint is None:
        fail("Not running.", advice="Start it with: jiyi up", code=NOT_REACHABLE)
    with connect(None, endpoint.url) as client:
        try:
            _console.print(show.health(client.operations.health(), endpoint.url))
        except ClientError as error:
            _console.print(f"Supervised by process {endpoint.pid}, but {endpoint.url} does not answer: {error}")
    if memory:
        _console.print(show.memory(service.processes(settings, endpoint)))


@app.command("config")
def show_config(
    home: Home = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Shows every setting: its variable, value and where that comes from, default, bounds and meaning."""
    given = {**(service.read_config(config).args if config else {}), **({"home": home} if home else {})}
    described = service.describe(service.load_settings(None, given), given)
    if as_json:
        typer.echo(json.dumps([asdict(setting) for setting in described], ensure_ascii=False, indent=2))
    else:
        _console.print(show.settings(described))


@app.command()
def chat(
    user: Annotated[str, typer.Option(help="User id.")] = "me",
    session: Annotated[str, typer.Option(help="Session id.")] = "cli",
    home: Home = None,
    url: Url = None,
) -> None:
    """Talks to the service; shows what each reference resolved to and why. Ends with Ctrl-D."""
    with connect(home, url) as client:
        while True:
            try:
                message = _console.input("[bold cyan]你 / you[/] ")
            except (EOFError, KeyboardInterrupt):
                _console.print()
                return
            if not message.strip():
                continue
            try:
                _console.print(show.reply(plain(client.chat(message, user_id=user, session_id=session))))
            except ClientError as error:
                _console.print(f"[red]{error}[/]")


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="LoCoMo, MemoryBank or messages.")],
    user: Annotated[str | None, typer.Option(help="User to replay as; the file's own where not given.")] = None,
    only: Annotated[str | None, typer.Option(help="Only this conversation of the file.")] = None,
    batch: Annotated[int, typer.Option(min=1, max=256, help="Turns a call.")] = 1,
    ask: Annotated[int, typer.Option(min=0, help="Number of the recording's questions to ask afterwards.")] = 0,
    patience: Annotated[float, typer.Option(help="Seconds to repeat a call while the service is away.")] = 120,
    home: Home = None,
    url: Url = None,
) -> None:
    """Feeds a recorded conversation and prints what was learned; running it twice adds nothing."""
    from .replay import replay as replay_all

    try:
        conversations = read_conversations(file)
    except ValueError as error:
        fail(str(error))
    if only:
        conversations = [conversation for conversation in conversations if conversation.user == only]
    users = {conversation.user: user or conversation.user for conversation in conversations}
    columns = (
        TextColumn("{task.description:>9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with connect(home, url, patience_s=patience) as client:
        with Progress(*columns, console=_console) as progress:
            result = replay_all(client, conversations, users=users, batch=batch, progress=progress)
        _console.print(show.replayed(result))
        for conversation in conversations:
            user_id = users[conversation.user]
            _console.print(show.entities(user_id, plain(client.entities.recent(user_id=user_id, limit=15).results)))
            for question in conversation.questions[:ask]:
                answer = plain(client.chat(question.text, user_id=user_id, session_id="replay-questions"))
                _console.print(show.question(question, answer))


@app.command("export")
def export_memory(
    user: Annotated[str, typer.Argument(help="User id.")],
    home: Home = None,
    url: Url = None,
) -> None:
    """Writes everything of a user to standard output, as JSON lines."""
    with connect(home, url, timeout_s=_TRANSFER_S) as client:
        for piece in client.export(user_id=user):
            sys.stdout.buffer.write(piece)


@app.command("import")
def import_memory(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `jiyi export` wrote, or --from.")],
    user: Annotated[
        str | None, typer.Option(help="User who gets it; that of the file where not given. Needed with --from.")
    ] = None,
    source: Annotated[
        ForeignFormat | None, typer.Option("--from", help="The service whose export the file is.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --from: show what would be imported and skipped, and why.")
    ] = False,
    patience: Annotated[float, typer.Option(help="Seconds to repeat it while the service is away.")] = 120,
    home: Home = None,
    url: Url = None,
) -> None:
    """Gives a user what was exported, by Jiyi or another service; running it twice adds nothing."""
    if source is None:
        if dry_run:
            fail("--dry-run needs --from: an export of Jiyi is imported whole or refused.", code=USAGE)
        of = importing.user_of(file)
        with file.open("rb") as lines, connect(home, url, patience_s=patience, timeout_s=_TRANSFER_S) as client:
            _console.print(show.imported(plain(client.import_(lines, user_id=user or of, from_user_id=of))))
        return
    if user is None:
        fail("--from needs --user: who gets what is imported.", code=USAGE)
    export = importing.read_foreign(file, source, user=user)
    _console.print(show.read_export(export))
    if dry_run or not export.entries:
        return
    with (
        importing.as_export(export, user=user) as lines,
        connect(home, url, patience_s=patience, timeout_s=_TRANSFER_S) as client,
    ):
        _console.print(show.imported(plain(client.import_(lines, user_id=user, from_user_id=user))))


@app.command()
def review(
    user: Annotated[str | None, typer.Option(help="Only this user's memory; everybody's where not given.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, change nothing.")] = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Reviews what is remembered: archives what is rarely used, marks what may be out of date."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        run = _follow(runs.follow_review, client, plain(client.review.start(user_id=user, dry_run=dry_run)))
    _console.print(runs.show_review(run))
    if run["state"] != "done":
        raise typer.Exit(1)


@app.command()
def job(
    kind: Annotated[MaintenanceKind, typer.Argument(help="Which job over facts to do now.")],
    user: Annotated[str | None, typer.Option(help="Only this user's facts; everybody's where not given.")] = None,
    home: Home = None,
    url: Url = None,
) -> None:
    """Keeps facts in order: merges and summarises (nightly), ages and archives (weekly), builds anew (monthly)."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        run = _follow(runs.follow_job, client, plain(client.facts.start_job(kind.value, user_id=user)))
    _console.print(runs.show_job(run))
    if run["state"] != "done":
        raise typer.Exit(1)


@app.command()
def reembed(
    to: Annotated[str | None, typer.Option(help="Embed everything with this model, then switch to it.")] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Go back to the previous model.")] = False,
    finish: Annotated[bool, typer.Option("--finish", help="Drop the vectors of the previous model.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Follow the current run, or show the last one.")] = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Changes the model of all vectors while the service runs; the run continues when this command is interrupted."""
    if [to is not None, rollback, finish, status].count(True) != 1:
        fail("Give one of --to MODEL, --rollback, --finish, --status.")
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
            _console.print("The model was never changed.")
            return
        run = _follow(runs.follow_reembedding, client, run)
    _console.print(runs.show_reembedding(run))
    if run["state"] != "done":
        raise typer.Exit(1)


@index.command()
def verify(
    mend: Annotated[bool, typer.Option("--mend", help="Repair what is missing, stale or orphaned.")] = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Compares the index with the system of record; exit code 1 where they differ and nothing was repaired."""
    _run_over_index(home, url, lambda client: client.index.verify(mend=mend))


@index.command()
def rebuild(
    discard: Annotated[
        bool, typer.Option("--discard", help="Set damaged index files aside, with the service stopped.")
    ] = False,
    home: Home = None,
    url: Url = None,
) -> None:
    """Rebuilds every point of the index from the system of record; searches are answered meanwhile."""
    if not discard:
        _run_over_index(home, url, lambda client: client.index.rebuild())
        return
    try:
        folders = service.discard_index(service.load_settings(home))
    except service.ServiceFailed as error:
        fail(str(error))
    for folder in folders:
        _console.print(f"Set aside: {folder}", soft_wrap=True, highlight=False)
    _console.print("The index is empty. It is rebuilt after: jiyi up")


@index.command("status")
def index_status(home: Home = None, url: Url = None) -> None:
    """Follows the current run over the index to its end, or shows the last one."""
    _run_over_index(home, url, lambda client: client.index.status())


def main() -> None:
    """Runs the command line; what the service refuses, its absence and a bad setting are messages, not tracebacks."""
    keep_private()  # logs and exports hold what users said
    try:
        app()
    except ClientError as error:
        print_error(f"{type(error).__name__}: {error}", "\n".join(error.__notes__))
        raise SystemExit(NOT_REACHABLE if isinstance(error, Unreachable) else FAILED) from None
    except service.BadSettings as error:
        print_error(str(error))
        raise SystemExit(USAGE) from None


def _become(user: str) -> None:
    try:
        account.become(user)
    except account.AccountRefused as error:
        fail(str(error))


def _check_writable(user: str, *folders: Path) -> None:
    try:
        for folder in folders:
            account.check_writable(user, folder)
    except account.AccountRefused as error:
        fail(str(error))


def _run_over_index(home: Path | None, url: str | None, begin: Callable[["Client"], Any]) -> None:
    """Starts a run, or gets the last one, follows it to its end and shows what it found."""
    with connect(home, url, patience_s=_PATIENCE_S) as client:
        run: runs.Run | None = plain(begin(client))
        if run is None:
            _console.print("There was no run over the index since the learner started.")
            return
        run = _follow(runs.follow_index_run, client, run)
    _console.print(runs.show_index_run(run))
    if not runs.index_is_sound(run):
        raise typer.Exit(1)


def _follow(follow: Callable[["Client", runs.Run, Progress], runs.Run], client: "Client", run: runs.Run) -> runs.Run:
    """Shows the progress of a run and returns its last state."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=_console) as progress:
            return follow(client, run, progress)
    except runs.RunLost as error:
        fail(str(error))
