"""The Ingress deployment: HTTP in front, handles behind (DESIGN §2)."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module

from fastapi import FastAPI

from memory.values.text_caches import forget_texts

from ..config.access_settings import HttpArgs, LimitArgs
from ..http.app import build_http
from ..http.support.services import Services
from ..telemetry.replicas import IngressReport


class Ingress:
    """Serves the FastAPI app; its services are opened on the replica's own event loop."""

    def __init__(
        self, *, services: Callable[[], AbstractAsyncContextManager[Services]], limits: LimitArgs, http: HttpArgs
    ) -> None:
        self._services = services
        self._limits = limits
        self._http = http

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Ray Serve's hook for an app that is built in the replica."""
        self._app = build_http(self._services, limits=self._limits, http=self._http)
        import_module(
            "deployments.http.doors.mcp.server"
        )  # else the first message waits, and MCP clients do so for 10 s
        return self._app

    async def report(self) -> IngressReport:
        """The counters of this replica and the state of its stores."""
        services: Services = self._app.state.services
        return await services.report()

    async def forget(self, user_id: str) -> None:
        """Drops what this replica holds of a user, and its caches of texts."""
        services: Services = self._app.state.services
        await services.forget(user_id)
        await asyncio.to_thread(forget_texts)
