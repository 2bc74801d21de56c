"""The number of requests that one ingress replica works on at a time."""

from starlette.types import ASGIApp, Receive, Scope, Send

from memory.values.errors import Overloaded

from .problems import problem_response

OPERATORS_PATHS = ("/health/", "/metrics")
"""What tells operators how a busy service is doing must be answered by one."""
_RETRY_AFTER_S = 1.0


class Concurrency:
    """ASGI middleware that refuses requests (429) while as many as allowed are being answered.

    What waits in the queues behind the ingress came through here: without a bound they outgrow the deadlines, and every
    reply comes late and poorer. It counts requests whose body has come, so that slow clients take no place.

    Args:
        app: What answers.
        limit: Requests at a time; streams count until they end.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers 429."""
        if scope["type"] != "http" or scope["path"].startswith(OPERATORS_PATHS):
            await self._app(scope, receive, send)
            return
        if self._running >= self._limit:
            error = Overloaded(
                f"{self._limit} requests are being answered; try again in a moment.", retry_after_s=_RETRY_AFTER_S
            )
            await problem_response(error)(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
