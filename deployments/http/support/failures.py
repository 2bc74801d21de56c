"""ASGI middleware around everything that refuses: replies to errors that no handler has taken, and words of doors."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.values.errors import Unavailable

from .problems import PROBLEM_JSON, defect_problem, problem_response

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


Wording = Callable[[Mapping[str, Any]], tuple[int, dict[str, Any], dict[str, str]]]
"""Makes status, body and further headers of a problem (RFC 9457)."""


@dataclass(frozen=True)
class Door:
    """How a door words errors.

    Args:
        wording: Makes them of problems.
        replies: The `responses` of routes that reply with these statuses, for the OpenAPI document.
        schema: The body, to which the document refers by its name.
        path: Makes the path of a route of what its clients send; None where they send it as it is.
    """

    wording: Wording
    replies: Callable[..., dict[int | str, dict[str, Any]]]
    schema: type[BaseModel]
    path: Callable[[str], str] | None = None


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
        if door.path is not None:
            scope["path"] = door.path(scope["path"])
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


def _worded(wording: Wording, problem: Mapping[str, Any], start: Message) -> JSONResponse:
    status, content, headers = wording(problem)
    response = JSONResponse(content, status_code=status, headers=headers)
    response.raw_headers += [(name, value) for name, value in start["headers"] if name.lower() not in _REPLACED]
    return response
