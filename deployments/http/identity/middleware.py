"""ASGI middleware that finds out who asks before anything else is done with a request."""

from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from memory.identity.caller import Identity
from memory.values.errors import JiyiError, Unauthenticated

from ..support.problems import problem_response
from .authentication import has_credential
from .current import CURRENT_IDENTITY, CURRENT_USER
from .protected_resource import METADATA_PATHS, challenge

if TYPE_CHECKING:
    from ..support.services import Services

OPEN_PATHS = frozenset(
    {
        "/health",
        "/health/live",
        "/health/ready",
        "/docs",
        "/docs/oauth2-redirect",
        "/redoc",
        "/openapi.json",
        *METADATA_PATHS,
    }
)
"""Paths that need no credential, and `OPEN_FOLDER`: what the service is, not what it holds."""
OPEN_FOLDER = "/static-offline-docs/"


class Authentication:
    """Sets the identity of each request, or answers 401, or 429 after many wrong credentials.

    It covers whatever is mounted in the app, and new routes too: all but `OPEN_PATHS` need a credential, where the
    service asks for one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request without a valid credential; passes the others on."""
        if scope["type"] == "websocket":  # there is none, and none may come in unasked
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http" or _is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        services: Services = scope["app"].state.services
        headers = Headers(scope=scope)
        try:
            address, _ = scope.get("client") or ("", 0)
            identity = await services.authenticator.identify(headers, address=address)
        except JiyiError as error:
            response = problem_response(error)
            if isinstance(error, Unauthenticated):
                response.headers["WWW-Authenticate"] = challenge(scope, wrong=has_credential(headers))
            await response(scope, receive, send)
            return
        _remember(scope, identity)
        token, user_token = CURRENT_IDENTITY.set(identity), CURRENT_USER.set(None)
        try:
            await self._app(scope, receive, send)
        finally:
            CURRENT_IDENTITY.reset(token)
            CURRENT_USER.reset(user_token)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def _remember(scope: Scope, identity: Identity) -> None:
    """For the access log, which is outside of the context of the request."""
    scope.setdefault("state", {})["identity"] = identity
