"""The app over given services, running, and a client of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import FastAPI

from deployments.config.access_settings import HttpArgs, LimitArgs
from deployments.http.app import build_http
from deployments.http.support.services import Services


@asynccontextmanager
async def running_app(
    services: Services, *, limits: LimitArgs | None = None, http: HttpArgs | None = None
) -> AsyncIterator[FastAPI]:
    """The app, started and stopped; with the default limits and hosts where none are given."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Services]:
        yield services

    app = build_http(opened, limits=limits or LimitArgs(), http=http or HttpArgs())
    async with app.router.lifespan_context(app):
        yield app


def client_of(app: FastAPI, *, raise_app_exceptions: bool = True, **headers: str) -> httpx.AsyncClient:
    """A client that sends these headers."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=raise_app_exceptions)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@asynccontextmanager
async def serving(
    services: Services, *, limits: LimitArgs | None = None, http: HttpArgs | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a running app."""
    async with running_app(services, limits=limits, http=http) as app, client_of(app) as client:
        yield client


@asynccontextmanager
async def at_port(app: FastAPI) -> AsyncIterator[str]:
    """The base URL of a running app at a free port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    yield f"http://{host}:{port}"
    server.should_exit = True
    await task
