"""405 for the methods that a path does not have, with all that it has in `Allow`."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import http_problem


class Methods:
    """ASGI middleware that compares a request with the OpenAPI document.

    The router would take `GET /entities/merge` for `GET /entities/{entity_id}`, and its `Allow` has the methods of one
    route alone.

    Args:
        app: What takes the requests.
        document: Returns the OpenAPI document; called once, at the first request.
    """

    def __init__(self, app: ASGIApp, document: Callable[[], Mapping[str, Any]]) -> None:
        self._app = app
        self._document = document

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers 405; paths that are not in the document are passed on."""
        allowed = self._allowed(scope["path"]) if scope["type"] == "http" else ""
        if not allowed or scope["method"] in allowed.split(", "):
            await self._app(scope, receive, send)
            return
        detail = f"{scope['path']} has no {scope['method']}, only {allowed}."
        await http_problem(405, detail, headers={"Allow": allowed})(scope, receive, send)

    def _allowed(self, path: str) -> str:
        return self._literal.get(path) or next((names for regex, names in self._templates if regex.match(path)), "")

    @cached_property
    def _literal(self) -> dict[str, str]:
        return {
            path: ", ".join(sorted(name.upper() for name in methods))
            for path, methods in self._document()["paths"].items()
        }

    @cached_property
    def _templates(self) -> list[tuple[re.Pattern[str], str]]:
        return [(compile_path(path)[0], names) for path, names in self._literal.items() if "{" in path]
