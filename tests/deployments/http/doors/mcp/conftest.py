"""The service over fakes at a port of this machine, with and without credentials."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

import deployments.http.doors.mcp.server  # noqa: F401 - as an ingress replica does before it answers
from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.values.access.identity import DEFAULT_APP, KeyScope
from tests.deployments.serving import at_port, running_app

ERAS = ("2026-07-28", "legacy")
"""Modes of the client: messages that stand alone, or a handshake first."""
Secret = Callable[..., Awaitable[str]]


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def url(services: Services) -> AsyncIterator[str]:
    """The address of `/mcp` where no credential is needed."""
    async with running_app(services) as app, at_port(app) as base:
        yield f"{base}/mcp"


@pytest.fixture
def guarded(services: Services) -> Services:
    keys = services.authenticator.keys
    return replace(services, authenticator=Authenticator(keys=keys, required=True, issuer="https://id.example.org"))


@pytest.fixture
async def guarded_url(guarded: Services) -> AsyncIterator[str]:
    """The address of `/mcp` where credentials are required."""
    async with running_app(guarded) as app, at_port(app) as base:
        yield f"{base}/mcp"


@pytest.fixture
def secret(guarded: Services) -> Secret:
    """Makes a key."""

    async def made(scope: KeyScope, *, user: str | None = None, app_id: str = DEFAULT_APP) -> str:
        issued = await guarded.authenticator.keys.create("test", scope=scope, app=app_id, user=user)
        return issued.secret

    return made
