"""What a request is known by in the logs: its trace, its id, and one line that says who asked and how that ended."""

import re
import uuid
from time import perf_counter

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...telemetry.tracing import TRACEPARENT, TRACESTATE, headers_of, in_span, span_for
from ..identity.middleware import OPEN_PATHS

_REQUEST_ID = "x-request-id"
_VALID_REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_log = structlog.get_logger(__name__)


class AccessLog:
    """ASGI middleware that logs each request when it ends, and gives it an id.

    The id is that of the header `X-Request-Id` where there is one; it is in every log line of the request and in the
    reply. A line has the route, not the path: a path may hold the id of a person. Health checks are logged at `debug`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Logs the request after it ended, whether answered, failed or cancelled."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(_REQUEST_ID, "")
        request_id = given if _VALID_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        status = 0
        start = perf_counter()

        async def send_identified(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(raw=message["headers"])[_REQUEST_ID] = request_id
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._app(scope, receive, send_identified)
            except Exception:
                status = status or 500
                raise
            finally:
                identity = scope.get("state", {}).get("identity")
                log = _log.debug if scope["path"] in OPEN_PATHS else _log.info
                log(
                    "request",
                    method=scope["method"],
                    route=getattr(scope.get("route"), "path", None),
                    status=status,
                    ms=round((perf_counter() - start) * 1000, 1),
                    credential=identity.caller.credential if identity else None,
                    app=identity.app if identity else None,
                )


class TraceContext:
    """ASGI middleware that puts each request into its caller's trace, or begins one.

    It makes the span of a request the current one while it is answered, and says in the reply which it is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the request in its span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        span = span_for(headers.getlist(TRACEPARENT), headers.getlist(TRACESTATE))

        async def send_traced(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[TRACEPARENT] = headers_of(span)[TRACEPARENT]
            await send(message)

        with in_span(span):
            await self._app(scope, receive, send_traced)
