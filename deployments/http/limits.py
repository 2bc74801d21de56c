"""A bound on request bodies, so that nobody fills the memory of the ingress."""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 32 * 1024 * 1024


class _TooLarge(Exception):
    pass


class BodyLimit:
    """ASGI middleware: 413 for a body larger than `max_bytes`, whether it says its length or not."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts what comes in; answers 413 itself as soon as it is too much."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise _TooLarge
            return message

        try:
            await self._app(scope, counted, send)
        except _TooLarge:
            detail = f"body: at most {self._max_bytes} bytes are allowed"
            body = {
                "type": "about:blank",
                "title": "InvalidField",
                "status": 413,
                "detail": detail,
                "errors": [{"field": "body", "problem": detail, "allowed": f"{self._max_bytes} bytes"}],
            }
            await JSONResponse(body, 413, media_type="application/problem+json")(scope, receive, send)
