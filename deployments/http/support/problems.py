"""Errors as `application/problem+json` (DESIGN §9)."""

import math
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from memory.values.errors import (
    BadRequest,
    Conflict,
    InvalidField,
    JiyiError,
    ModelUnavailable,
    NotFound,
    Overloaded,
    StoreUnavailable,
    Unavailable,
)

STATUS: dict[type[JiyiError], int] = {
    InvalidField: 422,
    NotFound: 404,
    Conflict: 409,
    Overloaded: 429,
    BadRequest: 400,
    StoreUnavailable: 503,
    ModelUnavailable: 503,
    Unavailable: 503,
    JiyiError: 500,
}
"""The status code of an error class; a class without an entry has that of its nearest ancestor with one."""

_log = structlog.get_logger(__name__)
_MAX_SHOWN = 20
_UNION_MEMBER = re.compile(r"[\[(]|^constrained-")
"""Parts of a validation error's path that name a member of a union, not a field."""
_TIME = "a time with a time zone, such as 2026-01-31T12:00:00Z"
_ALLOWED = {
    "missing": "this field is required",
    "extra_forbidden": "only the fields listed in /docs",
    "json_invalid": "valid JSON",
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_attributes_type": "an object",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_pattern_mismatch": "text without control characters",
    "string_unicode": "valid Unicode text",
    "timezone_aware": _TIME,
    "datetime_type": _TIME,
    "datetime_from_date_parsing": _TIME,
}
"""The allowed values by pydantic's error type; errors of other types carry a limit."""
_LIMITS = {
    "ge": "at least {}",
    "gt": "more than {}",
    "le": "at most {}",
    "lt": "less than {}",
    "min_length": "at least {} {unit}",
    "max_length": "at most {} {unit}",
    "expected": "{}",
}


def problem(error: JiyiError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """The status code, body and headers of the reply to an error."""
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    body: dict[str, Any] = {"type": "about:blank", "title": type(error).__name__, "status": status}
    body["detail"] = error.message
    headers: dict[str, str] = {}
    if isinstance(error, InvalidField):
        body["errors"] = [{"field": error.field, "problem": error.message, "allowed": error.allowed}]
    if isinstance(error, Overloaded):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, Unavailable):
        body["component"] = error.component
        headers["Retry-After"] = "1"
    return status, body, headers


def install_error_handlers(app: FastAPI) -> None:
    """Makes an app reply to every error with `application/problem+json`."""

    @app.exception_handler(JiyiError)
    async def _handle_jiyi_error(request: Request, error: JiyiError) -> JSONResponse:
        status, body, headers = problem(error)
        if status >= 500:
            _log.error("request_failed", path=request.url.path, status=status, error=error.message)
        return _reply(status, body, headers)

    @app.exception_handler(RequestValidationError)
    async def _handle_invalid_request(_: Request, error: RequestValidationError) -> JSONResponse:
        fields = _field_errors(error.errors())
        body = {
            "type": "about:blank",
            "title": "InvalidField",
            "status": 422,
            "detail": "; ".join(f"{entry['field']}: {entry['problem']}" for entry in fields),
            "errors": fields,
        }
        return _reply(422, body, {})

    @app.exception_handler(HTTPException)
    async def _handle_http_error(_: Request, error: HTTPException) -> JSONResponse:
        return http_problem(error.status_code, str(error.detail), headers=error.headers)


def http_problem(
    status: int, detail: str, *, field: str = "", allowed: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The reply to a request that no route gets; `field` and `allowed` say what is wrong with which part of it."""
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body["detail"] = detail
    if field:
        body["errors"] = [{"field": field, "problem": detail, "allowed": allowed}]
    return _reply(status, body, dict(headers or {}))


def _reply(status: int, body: dict[str, Any], headers: dict[str, str]) -> JSONResponse:
    return JSONResponse(body, status_code=status, headers=headers, media_type="application/problem+json")


def _field_errors(errors: Sequence[Any]) -> list[dict[str, str]]:
    """One entry for each invalid field: its path, the problem, what is allowed."""
    entries: dict[str, dict[str, str]] = {}
    for error in errors:
        path = [str(part) for part in error["loc"][1:]]  # without "body" or "query"
        path = [part for part in path if not _UNION_MEMBER.search(part)]
        field = "body" if error["type"] == "json_invalid" or not path else ".".join(path)
        message = str(error["msg"]).removeprefix("Value error, ")
        entry = {"field": field, "problem": message, "allowed": _allowed(error)}
        entries.setdefault(field, entry)  # each member of a union reports the same field
    return list(entries.values())[:_MAX_SHOWN]


def _allowed(error: Any) -> str:
    """The values that the violated rule allows, in words."""
    if error["type"] in _ALLOWED:
        return _ALLOWED[error["type"]]
    units = ("character", "characters") if error["type"].startswith("string") else ("entry", "entries")
    limits = [(_LIMITS[name], value) for name, value in error.get("ctx", {}).items() if name in _LIMITS]
    return ", ".join(text.format(value, unit=units[value != 1]) for text, value in limits) or str(error["msg"])
