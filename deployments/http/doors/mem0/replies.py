"""Paths and errors as clients of mem0 send and expect them, whoever replies: routes, authentication or limits."""

import json
import re
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...support.problems import PROBLEM_JSON

PREFIX = "/mem0"
_SLASHES = re.compile("/{2,}")
_STATUS = {422: 400}
"""Its document knows no 422: what is wrong with a request is 400."""


class Mem0Replies:
    """ASGI middleware that stands outside of all others, and leaves paths that do not begin with `/mem0/` as they are.

    A path may have doubled slashes and lack the last one: clients join host and path as strings, and follow no
    redirect. An error in `application/problem+json` becomes `application/json` with its text as `detail` and `error`,
    which is where the clients look; `errors` stays.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and translates an error."""
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": _SLASHES.sub("/", f"{scope['path']}/")}
        start: Message | None = None
        problem = bytearray()

        async def send_translated(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
            elif start is None:
                await send(message)
            else:
                problem.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    await _translated(start, json.loads(problem))(scope, receive, send)

        await self._app(scope, receive, send_translated)


def _is_problem(message: Message) -> bool:
    return MutableHeaders(scope=message).get("content-type", "").startswith(PROBLEM_JSON)


def _translated(start: Message, problem: dict[str, Any]) -> JSONResponse:
    body = {"detail": problem["detail"], "error": problem["detail"]}
    if "errors" in problem:
        body["errors"] = problem["errors"]
    kept = {
        name: value
        for name, value in MutableHeaders(scope=start).items()
        if name not in ("content-type", "content-length")
    }
    status: int = start["status"]
    return JSONResponse(body, status_code=_STATUS.get(status, status), headers=kept)
