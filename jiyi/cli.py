"""The command line: the service of this machine, and what a user asks of any; `commands/` has most of it."""

import json
import os
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from deployments.config.private_files import keep_private

from . import account, service
from .commands import conversing, facts, memories
from .commands.connection import connect
from .commands.knowledge import bases as knowledge
from .commands.operations import bench, encryption, erasing, jobs, keys, maintenance, show, users
from .commands.output import FAILED, NOT_REACHABLE, USAGE, Home, Json, fail, print_error, print_json
from .errors import ClientError, Unreachable
from .mcp import mcp

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Memory for chat agents.",
    epilog="Exit codes: 0 done; 1 failed or refused; 2 the command or a setting is wrong; 3 no service answers.",
)
_console, _errors = Console(), Console(stderr=True)
_ROOT_WARNING = "Running as root: a fault of the service is a fault of the whole machine. Use --user NAME."

Config = Annotated[
    Path | None, typer.Option("--config", exists=True, dir_okay=False, help="Settings in a config file of Ray Serve.")
]


@app.command()
def up(
    home: Home = None,
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; the file's, else 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(envvar="JIYI_PORT", help="Port; the file's, else 8000.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait until it is ready.")] = 300,
    user: Annotated[str | None, typer.Option(help="Account to run as, where root starts it.")] = None,
    as_json: Json = False,
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
        if as_json:
            print_json({"url": endpoint.url, "pid": endpoint.pid, "started": False})
        else:
            _console.print(f"Already running: {endpoint.url}")
        return
    if os.geteuid() == 0:
        _warn(_ROOT_WARNING)
    host = host or (file.host if file else service.DEFAULT_HOST)
    service.check_address(settings, host)
    try:
        service.check_encryption(settings)
        service.prepare(settings)
        with _errors.status("Starting …") as status:
            endpoint = service.start(
                settings,
                host=host,
                port=port or (file.port if file else service.DEFAULT_PORT),
                timeout_s=timeout,
                on_wait=lambda seconds: status.update(f"Starting … {seconds:.0f} s"),
            )
    except service.ServiceFailed as error:
        fail(str(error))
    if warning := service.open_warning(settings):
        _warn(f"Warning: {warning}")
    if as_json:
        print_json({"url": endpoint.url, "pid": endpoint.pid, "started": True})
    else:
        _console.print(show.welcome(endpoint.url, settings.data_home), soft_wrap=True, highlight=False)


@app.command()
def down(
    timeout: Annotated[float, typer.Option(help="Seconds to wait for its end.")] = 120,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Stops the service: current requests finish, all data are kept."""
    try:
        stopped = service.stop(service.load_settings(home), timeout_s=timeout)
    except service.ServiceFailed as error:
        fail(str(error))
    if as_json:
        print_json({"stopped": stopped})
    else:
        _console.print("Stopped." if stopped else "Not running.")


@app.command()
def status(
    memory: Annotated[bool, typer.Option(help="Show the memory of each process.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Shows the state of the service and of its parts."""
    settings = service.load_settings(home)
    endpoint = service.find(settings)
    if endpoint is None:
        fail("Not running.", advice="Start it with: jiyi up", code=NOT_REACHABLE)
    with connect(None, endpoint.url, patience_s=0) as client:
        try:
            health = client.operations.health()
        except ClientError as error:
            message = f"Supervised by process {endpoint.pid}, but {endpoint.url} does not answer: {error}"
            fail(message, advice=error.advice, code=NOT_REACHABLE)
    processes = service.processes(settings, endpoint) if memory else []
    if as_json:
        print_json({"url": endpoint.url, "pid": endpoint.pid, "health": health, "processes": processes})
        return
    _console.print(show.health(health, endpoint.url))
    if memory:
        _console.print(show.memory(processes))


@app.command("config")
def show_config(
    config: Config = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Shows every setting: its variable, value and where that comes from, default, bounds and meaning."""
    given = {**(service.read_config(config).args if config else {}), **({"home": home} if home else {})}
    described = service.describe(service.load_settings(None, given), given)
    if as_json:
        print_json([asdict(setting) for setting in described])
    else:
        _console.print(show.settings(described))


@app.command()
def openapi(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, which it always is.")] = True,
) -> None:
    """Prints the OpenAPI document of this version, from which clients in other languages are made."""
    from deployments.http.app import build_http

    document = build_http(nullcontext).openapi()  # type: ignore[arg-type]  # services are opened when it starts
    typer.echo(json.dumps(document, ensure_ascii=False, sort_keys=True))


app.command()(mcp)
app.add_typer(conversing.app)
app.add_typer(maintenance.app)
app.add_typer(bench.app)
for name, group in {
    "facts": facts,
    "memories": memories,
    "knowledge": knowledge,
    "users": users,
    "erase": erasing,
    "keys": keys,
    "jobs": jobs,
    "encryption": encryption,
}.items():
    app.add_typer(group.app, name=name)


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


def _warn(message: str) -> None:
    _errors.print(message, style="yellow", soft_wrap=True, highlight=False, markup=False)
