"""ASGI middleware that finds out who asks before anything else is done with a request."""

import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.identity.caller import Identity
from memory.values.errors import JiyiError

from ..support.problems import problem_response
from .current import CURRENT_IDENTITY

if TYPE_CHECKING:
    from ..support.services import Services

OPEN_PATHS = frozenset({"/health/live", "/health/ready", "/docs", "/docs/oauth2-redirect", "/redoc", "/openapi.json"})
"""Paths that need no credential, and `OPEN_FOLDER`: what the service is, not what it holds."""
OPEN_FOLDER = "/static-offline-docs/"
_STORED_USER = re.compile(rb'(?:(?<="user_id":")|(?<="cursor":"))[a-z0-9._-]{0,32}\xe2\x90\x9f')
"""The app before the id of a user (`memory.values.identity.stored_user`), in JSON as replies and events have it; the
cursor of a run over all users is the id of one.
"""


class Authentication:
    """Sets the identity of each request, or answers 401.

    It covers whatever is mounted in the app, and new routes too: all but `OPEN_PATHS` need a credential, where the
    service asks for one. Replies show the ids of users without the app before them.
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
        try:
            identity = await services.authenticator.identify(Headers(scope=scope))
        except JiyiError as error:
            await problem_response(error)(scope, receive, send)
            return
        _remember(scope, identity)
        token = CURRENT_IDENTITY.set(identity)
        try:
            await self._app(scope, receive, _showing_own_ids(send))
        finally:
            CURRENT_IDENTITY.reset(token)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def _remember(scope: Scope, identity: Identity) -> None:
    """For the access log, which is outside of the context of the request."""
    scope.setdefault("state", {})["identity"] = identity


def _showing_own_ids(send: Send) -> Send:
    """A `send` that takes the app off the ids of users; the length of the reply follows."""
    started: list[Message] = []

    async def send_shown(message: Message) -> None:
        if message["type"] == "http.response.start" and "content-length" in Headers(raw=message["headers"]):
            started.append(message)  # waits for the body, which may become shorter
            return
        if message["type"] == "http.response.body" and (body := message.get("body")):
            shown = _STORED_USER.sub(b"", body)
            message = {**message, "body": shown}
            if started and len(shown) != len(body):
                headers = MutableHeaders(raw=started[0]["headers"])
                headers["content-length"] = str(int(headers["content-length"]) - len(body) + len(shown))
        if started:
            await send(started.pop())
        await send(message)

    return send_shown
