"""A bound on request bodies, so that nobody fills the memory of the ingress."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 32 * 1024 * 1024


class BodyTooLarge(HTTPException):
    """A request's body is larger than any request may be."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(413, f"body: larger than {max_bytes} bytes")
        self.max_bytes = max_bytes


class BodyLimit:
    """ASGI middleware: 413 for a body larger than `max_bytes`, whether it says its length or not."""

    def __init__(self, app: ASGIApp, max_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Counts what comes in; the route that reads the body meets the error as soon as it is too much."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                raise BodyTooLarge(self._max_bytes)
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)
