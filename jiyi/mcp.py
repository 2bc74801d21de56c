"""`jiyi mcp`: the tools of `/mcp` over standard input and output, as a client of a running service."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import httpx
import typer

from .commands.connection import url_of

_USER = "me"
_TIMEOUT_S = 120.0


def mcp(
    user: Annotated[
        str | None, typer.Option(help=f"User id; without a credential {_USER!r}, else that of the credential.")
    ] = None,
    home: Annotated[Path | None, typer.Option(help="Data folder; JIYI_HOME, else ~/.jiyi.")] = None,
    url: Annotated[str | None, typer.Option(help="Base URL; the service of the data folder where not given.")] = None,
) -> None:
    """Serves the memory to an MCP client over standard input and output; JIYI_API_KEY is the credential."""
    key = os.environ.get("JIYI_API_KEY")
    headers = {b"Authorization": f"Bearer {key}".encode()} if key else {}
    if user := user or (None if key else _USER):
        headers[b"X-Jiyi-User"] = user.encode()
    asyncio.run(_serve(url or url_of(home), headers))


async def _serve(url: str, headers: dict[bytes, bytes]) -> None:
    from deployments.http.doors.mcp.api import Api
    from deployments.http.doors.mcp.server import make_server

    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=_TIMEOUT_S) as http:
        api = Api(http)
        await make_server(lambda: api).run_stdio_async()
