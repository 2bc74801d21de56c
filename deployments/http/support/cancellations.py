"""A reply to requests that end with a `CancelledError` although nobody cancelled them.

Serve sends a cancellation inside one replica to the callers as an error. It passes every `except Exception`; Serve
drops it in the ingress, and the HTTP server then replies with a 500 in plain text and logs nothing.
"""

import asyncio

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.values.errors import Unavailable

from .problems import problem_response

_log = structlog.get_logger(__name__)


class Cancellations:
    """Middleware: what was cancelled by somebody else than its client is a 503 that says when to come back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Replies in place of a request that ended without its task being cancelled."""
        has_started = False

        async def send_noted(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling() or has_started or scope["type"] != "http":
                raise
            _log.error("request_cancelled", path=scope["path"], exc_info=error)
            reply = problem_response(Unavailable("a part of the service was lost; send the request again"))
            await reply(scope, receive, send)
