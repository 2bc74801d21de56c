"""Connects commands with the service of a data folder, or with one elsewhere."""

import os
from pathlib import Path

import typer
from rich.console import Console

from . import service
from .client import JiyiClient

_console = Console()


def connect(home: Path | None, url: str | None, *, patience_s: float = 0.0, timeout_s: float = 120.0) -> JiyiClient:
    """A client with the credential of the environment (`JIYI_API_KEY`).

    Args:
        home: The data folder whose service is meant; None for the usual one.
        url: The base URL of a service elsewhere, where that is meant.
        patience_s: For how long a request is repeated while the service is away or busy.
        timeout_s: The time-out of a request.

    Raises:
        typer.Exit: No service runs with this data folder.
    """
    return JiyiClient(
        url or _url_of(home), patience_s=patience_s, timeout_s=timeout_s, api_key=os.environ.get("JIYI_API_KEY")
    )


def _url_of(home: Path | None) -> str:
    endpoint = service.find(service.load_settings(home))
    if endpoint is None:
        _console.print("Not running. Start it with: jiyi up", style="red", markup=False, highlight=False)
        raise typer.Exit(1)
    return endpoint.url
