"""The service where it asks for credentials, and clients that hold one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.values.access.identity import DEFAULT_APP, KeyScope
from tests.deployments.serving import running_app

Client = Callable[..., Awaitable[httpx.AsyncClient]]


@pytest.fixture
def guarded(services: Services) -> Services:
    """The services, with credentials required."""
    authenticator = Authenticator(
        keys=services.authenticator.keys, required=True, user_headers=("X-OpenWebUI-User-Id",)
    )
    return replace(services, authenticator=authenticator)


@pytest.fixture
async def app(guarded: Services) -> AsyncIterator[FastAPI]:
    async with running_app(guarded) as app:
        yield app


@pytest.fixture
async def anonymous(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a credential."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


@pytest.fixture
def client_of(app: FastAPI, guarded: Services) -> Client:
    """Makes a key and a client that sends it."""

    async def made(
        scope: KeyScope, *, user: str | None = None, app_id: str = DEFAULT_APP, **headers: str
    ) -> httpx.AsyncClient:
        issued = await guarded.authenticator.keys.create("test", scope=scope, app=app_id, user=user)
        sent: dict[str, Any] = {"Authorization": f"Bearer {issued.secret}", **headers}
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", headers=sent)

    return made
