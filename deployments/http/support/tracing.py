"""ASGI middleware that puts each request into its caller's trace, or begins one."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...telemetry.tracing import TRACEPARENT, TRACESTATE, headers_of, in_span, span_for


class TraceContext:
    """Makes the span of a request the current one while it is answered, and says in the reply which it is."""

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
