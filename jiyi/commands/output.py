"""What all commands have in common: options, JSON for programs, progress, errors with what to do, exit codes."""

import json
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Home = Annotated[Path | None, typer.Option(help="Data folder; JIYI_HOME, else ~/.jiyi.")]
Url = Annotated[str | None, typer.Option(help="Base URL; the service of the data folder where not given.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]

FAILED, USAGE, NOT_REACHABLE = 1, 2, 3
"""Exit codes beside 0: it failed or was refused; the command or a setting is wrong; no service answers."""

_errors = Console(stderr=True)


def plain(reply: Any) -> Any:
    """A reply as JSON has it: objects, lists, texts, numbers."""
    return to_jsonable_python(reply)


def print_json(value: Any) -> None:
    """Prints a reply as JSON."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))


def progress_bar() -> Progress:
    """A bar on standard error, so that standard output holds results alone."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=_errors)


def byte_bar(*, is_shown: bool = True) -> Progress:
    """A bar on standard error that counts bytes; none where `is_shown` is false."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    return Progress(*columns, console=_errors, disable=not is_shown)


def print_error(message: str, advice: str = "") -> None:
    """Prints what went wrong, and what to do, to standard error."""
    _errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    if advice:
        _errors.print(advice, markup=False, highlight=False, soft_wrap=True)


def fail(message: str, *, advice: str = "", code: int = FAILED) -> NoReturn:
    """Ends the command with what went wrong, and what to do."""
    print_error(message, advice)
    raise typer.Exit(code)
