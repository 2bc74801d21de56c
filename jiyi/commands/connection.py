"""Connects commands with the service of a data folder, or with one elsewhere."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .. import service
from .output import NOT_REACHABLE, fail

if TYPE_CHECKING:
    from ..client.clients import Client


def connect(home: Path | None, url: str | None, *, patience_s: float = 0.0, timeout_s: float = 120.0) -> "Client":
    """A client with the credential of the environment (`JIYI_API_KEY`).

    Args:
        home: The data folder whose service is meant; None for the usual one.
        url: The base URL of a service elsewhere, where that is meant.
        patience_s: For how long a request is repeated while the service is away or busy.
        timeout_s: The time-out of a request.

    Raises:
        typer.Exit: No service runs with this data folder.
    """
    from ..client.clients import Client

    return Client(
        url or url_of(home), patience_s=patience_s, timeout_s=timeout_s, api_key=os.environ.get("JIYI_API_KEY")
    )


def url_of(home: Path | None) -> str:
    """The base URL of the service of a data folder.

    Raises:
        typer.Exit: It does not run.
    """
    endpoint = service.find(service.load_settings(home))
    if endpoint is None:
        fail("Not running. Start it with: jiyi up", code=NOT_REACHABLE)
    return endpoint.url
