"""ASGI middleware that answers a request whose route fails by a defect of ours."""

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import defect_problem

_log = structlog.get_logger(__name__)


class Defects:
    """Answers 500 and raises the error again, for Serve to count.

    A handler of FastAPI for all exceptions would run outside of every middleware: its log line would have no request
    id and no trace, and neither would the reply.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_started = False

        async def send_noticed(message: Message) -> None:
            nonlocal is_started
            is_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_noticed)
        except Exception as error:
            _log.error("request_failed", path=scope["path"], status=500, error=repr(error), exc_info=error)
            if not is_started:
                await defect_problem()(scope, receive, send)
            raise
