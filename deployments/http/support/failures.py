"""ASGI middleware that replies where a request ends with an error that no handler of the app has taken."""

import asyncio

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.values.errors import Unavailable

from .problems import defect_problem, problem_response

_log = structlog.get_logger(__name__)


class Failures:
    """Answers defects of ours (500), and parts that were lost in a way that Serve hides (503).

    A handler of FastAPI for all exceptions would run outside of every middleware: its log line would have no request
    id and no trace, and neither would the reply. A defect is raised again, for Serve to count.

    Serve sends a cancellation inside one replica to the callers as a `CancelledError`, although nobody cancelled them.
    It passes every `except Exception`; Serve drops it in the ingress, and the HTTP server then replies with a 500 in
    plain text and logs nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and replies in its place where it fails before its reply has begun."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def send_noted(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling() or has_started:
                raise
            _log.error("request_cancelled", path=scope["path"], exc_info=error)
            lost = Unavailable("a part of the service was lost; send the request again")
            await problem_response(lost)(scope, receive, send)
        except Exception as error:
            _log.error("request_failed", path=scope["path"], status=500, error=repr(error), exc_info=error)
            if not has_started:
                await defect_problem()(scope, receive, send)
            raise
