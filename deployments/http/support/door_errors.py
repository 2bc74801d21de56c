"""Problems in the words of a door: clients of other services know their own form of an error alone."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import PROBLEM_JSON

Problem = Mapping[str, Any]
Wording = Callable[[Problem], tuple[int, dict[str, Any], dict[str, str]]]
"""Makes status, body and further headers of a problem (RFC 9457)."""


@dataclass(frozen=True)
class Door:
    """How a door words errors.

    Args:
        wording: Makes them of problems.
        replies: The `responses` of routes that reply with these statuses, for the OpenAPI document.
        schema: The body, to which the document refers by its name.
    """

    wording: Wording
    replies: Callable[..., dict[int | str, dict[str, Any]]]
    schema: type[BaseModel]


def door_of(path: str, doors: Mapping[str, Door]) -> Door | None:
    """The door that a path belongs to; `doors` are named by the beginning of their paths."""
    return next((door for prefix, door in doors.items() if path.startswith(prefix)), None)


_REPLACED = (b"content-type", b"content-length")


class DoorErrors:
    """ASGI middleware that words every problem on the paths of a door as its clients read it.

    It is outside of whatever refuses requests, so that none of them has to know the doors.

    Args:
        app: What answers with `application/problem+json`.
        doors: By the beginning of their paths.
    """

    def __init__(self, app: ASGIApp, doors: Mapping[str, Door]) -> None:
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and its reply back unless it is a problem."""
        door = door_of(scope["path"], self._doors) if scope["type"] == "http" else None
        if door is None:
            await self._app(scope, receive, send)
            return
        held: Message | None = None
        body = bytearray()

        async def send_worded(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_problem(message):
                held = message
            elif held is None:
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _worded(door.wording, json.loads(body), held)(scope, receive, send)

        await self._app(scope, receive, send_worded)


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(PROBLEM_JSON)


def _worded(wording: Wording, problem: Problem, start: Message) -> JSONResponse:
    status, content, headers = wording(problem)
    response = JSONResponse(content, status_code=status, headers=headers)
    response.raw_headers += [(name, value) for name, value in start["headers"] if name.lower() not in _REPLACED]
    return response
