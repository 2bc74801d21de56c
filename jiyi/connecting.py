"""The client of a command: to a service elsewhere, or to that of a data folder."""

import os
from pathlib import Path

import typer
from rich.console import Console

from . import service
from .client import JiyiClient


def connect(home: Path | None, url: str | None, *, patience_s: float, timeout_s: float = 120.0) -> JiyiClient:
    """A client with the credential of the environment; ends the command where the folder's service does not run."""
    if url is None:
        endpoint = service.find(service.load_settings(home))
        if endpoint is None:
            Console().print("Not running. Start it with: jiyi up", style="red", markup=False, highlight=False)
            raise typer.Exit(1)
        url = endpoint.url
    return JiyiClient(url, patience_s=patience_s, timeout_s=timeout_s, api_key=os.environ.get("JIYI_API_KEY"))
