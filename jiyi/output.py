"""What all commands have in common: JSON for programs, errors with what to do, and exit codes."""

import json
from typing import Any, NoReturn

import typer
from pydantic_core import to_jsonable_python
from rich.console import Console

FAILED, USAGE, NOT_REACHABLE = 1, 2, 3
"""Exit codes beside 0: it failed or was refused; the command or a setting is wrong; no service answers."""

_errors = Console(stderr=True)


def print_error(message: str, advice: str = "") -> None:
    """Prints what went wrong, and what to do, to standard error."""
    _errors.print(message, style="red", markup=False, highlight=False, soft_wrap=True)
    if advice:
        _errors.print(advice, markup=False, highlight=False, soft_wrap=True)


def fail(message: str, *, advice: str = "", code: int = FAILED) -> NoReturn:
    """Ends the command with what went wrong, and what to do."""
    print_error(message, advice)
    raise typer.Exit(code)


def plain(reply: Any) -> Any:
    """A reply as JSON has it: objects, lists, texts, numbers."""
    return to_jsonable_python(reply)


def print_json(value: Any) -> None:
    """Prints a reply as JSON."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2))
