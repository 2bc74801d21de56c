"""`/mcp` as a route of the app: streamable HTTP without sessions, behind what guards every other route."""

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING

import httpx
import structlog
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ....telemetry.tracing import current_span, headers_of
from ...identity.protected_resource import METADATA_PATHS, RESOURCE_PATHS, protected_resource
from ...support.problems import http_problem
from ...support.services import Services

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from .api import Api, ApiOf

_OF_THE_ENVELOPE = frozenset(
    b"accept accept-encoding connection content-length content-type origin traceparent tracestate transfer-encoding "
    b"x-request-id".split()
)
"""Headers that belong to the message around a call, not to who makes it."""


def add_mcp(app: FastAPI) -> None:
    """Adds `/mcp` and the metadata of who gives credentials for it."""
    door = McpDoor(app)
    for path in RESOURCE_PATHS:
        app.router.routes.append(Route(path, door, include_in_schema=False))
    for path in METADATA_PATHS:
        app.router.routes.append(Route(path, protected_resource, methods=["GET"], include_in_schema=False))


class McpDoor:
    """Answers MCP messages, each by itself: whichever replica gets it, in both eras of the protocol.

    A tool calls the app as any client does, with the headers of the message, so that what holds for the HTTP surface
    holds for the tools. The MCP SDK is loaded with the first message.

    Args:
        app: The app that it is a route of.
    """

    def __init__(self, app: FastAPI) -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://jiyi", trust_env=False)
        self._api: ContextVar[Api] = ContextVar("api")
        self._server: MCPServer | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a message; 405 for the streams and sessions of the earlier era, which there are none of."""
        if scope["method"] != "POST":
            refusal = http_problem(405, "/mcp has POST alone: it keeps no session.", headers={"Allow": "POST"})
            await refusal(scope, receive, send)
            return
        services: Services = scope["app"].state.services
        await services.count_request()
        server = await self.server()
        from mcp.server.transport_security import TransportSecuritySettings

        from .api import Api

        self._api.set(Api(self._http, (*_caller(scope), *_correlation())))
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # by `Origins`
        server.streamable_http_app(stateless_http=True, transport_security=checked)
        manager = server.session_manager  # of this message alone: it belongs to the task that runs it
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def server(self) -> "MCPServer":
        """The server whose tools it offers."""
        if self._server is None:
            self._server = await asyncio.to_thread(_make, self._api.get)
        return self._server


def _make(api_of: "ApiOf") -> "MCPServer":
    from .server import make_server

    return make_server(api_of)


def _caller(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers that say who calls, and under which name of the service."""
    return [(name, value) for name, value in scope["headers"] if name not in _OF_THE_ENVELOPE]


def _correlation() -> list[tuple[bytes, bytes]]:
    """Headers by which a call is logged under the trace and the id of the message."""
    span = current_span()
    headers = headers_of(span) if span else {}
    if request_id := structlog.contextvars.get_contextvars().get("request_id"):
        headers["x-request-id"] = request_id
    return [(name.encode(), value.encode()) for name, value in headers.items()]
