"""Errors as OpenAI's clients read them: `{"error": {"message", "type", "param", "code"}}`."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from memory.values.errors import JiyiError, NotFound

from ...support.failures import Door
from ...support.problems import problem, replies

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_RETRIED = frozenset({408, 429})
"""Statuses of requests that may succeed when they are sent again; the clients also repeat 409, which cannot."""
_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


class ModelNotFound(NotFound):
    """There is no model of this name."""


class ErrorBody(BaseModel):
    """What is wrong; `param` is the field, `code` one word for it."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorReply(BaseModel):
    """An error."""

    error: ErrorBody


def openai_error(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
    """A problem as status, body and headers; what a field must be is in the message."""
    status = 400 if problem["status"] == 422 else int(problem["status"])
    wrong = problem.get("errors") or []
    message = "; ".join(f"{_named(each)} (allowed: {each['allowed']})" for each in wrong)
    title = str(problem["title"]).replace(" ", "")
    body = ErrorBody(
        message=message or str(problem["detail"]),
        type=_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error"),
        param=str(wrong[0]["field"]) if wrong else problem.get("param"),
        code=problem.get("code") or _CODES.get(status, _INNER_CAPITAL.sub("_", title).lower()),
    )
    is_final = status < 500 and status not in _RETRIED
    return status, {"error": body.model_dump()}, {"x-should-retry": "false"} if is_final else {}


def _named(wrong: Mapping[str, Any]) -> str:
    """What is wrong with a field, which is named once."""
    field, what = str(wrong["field"]), str(wrong["problem"])
    return what if what.startswith(field) else f"{field}: {what}"


def error_event(error: JiyiError) -> dict[str, Any]:
    """The data of the event that ends a stream which failed after its status was sent."""
    return openai_error(problem(error)[1])[1]


def openai_replies(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of routes that reply with these statuses, for the OpenAPI document."""
    described = replies(*{400 if status == 422 else status for status in statuses})
    schema = {"$ref": f"#/components/schemas/{ErrorReply.__name__}"}
    for reply in described.values():
        reply["content"] = {"application/json": {"schema": schema}}
    return described


OPENAI = Door(openai_error, openai_replies, ErrorReply)
