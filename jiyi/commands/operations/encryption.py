"""`jiyi encryption`: encrypts the stores of a home, decrypts them, and changes the key, with the service stopped."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ... import service
from ..output import Home, Json, fail, print_json

app = typer.Typer(no_args_is_help=True, help="Encrypts the stores of a home, with the service stopped.")
_console = Console()

OldKeyFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The file that holds the old key.")]


@app.command()
def status(as_json: Json = False, home: Home = None) -> None:
    """Shows how each store is written, seen with the key of the settings."""
    try:
        states = service.encryption_states(service.load_settings(home))
    except service.ServiceFailed as error:
        fail(str(error))
    if as_json:
        print_json(states)
        return
    for name, state in states.items():
        _console.print(f"{name}: {state}", highlight=False)


@app.command()
def on(as_json: Json = False, home: Home = None) -> None:
    """Encrypts what is stored with the key in JIYI_ENCRYPTION_KEY; goes on where it was interrupted."""
    _change(home, "on", as_json=as_json)


@app.command()
def off(as_json: Json = False, home: Home = None) -> None:
    """Decrypts what is stored with the key in JIYI_ENCRYPTION_KEY, which is to be unset afterwards."""
    _change(home, "off", as_json=as_json)


@app.command()
def rotate(old_key_file: OldKeyFile, as_json: Json = False, home: Home = None) -> None:
    """Encrypts what is stored anew, with the key in JIYI_ENCRYPTION_KEY in place of the old one."""
    _change(home, "rotate", as_json=as_json, old_key_file=old_key_file)


def _change(
    home: Path | None, action: service.EncryptionAction, *, as_json: bool, old_key_file: Path | None = None
) -> None:
    done: list[str] = []
    try:
        for name in service.change_encryption(service.load_settings(home), action, old_key_file=old_key_file):
            done.append(name)
            if not as_json:
                _console.print(f"{name}: done", highlight=False)
    except service.ServiceFailed as error:
        fail(str(error))
    if as_json:
        print_json({"action": action, "done": done})
