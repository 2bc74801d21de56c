"""Errors as `application/problem+json`; one table maps the error tree to status codes (DESIGN §9)."""

import math
import re
from collections.abc import Sequence
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

from .limits import BodyTooLarge

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
"""Looked up along the class's ancestors, nearest first."""

_log = structlog.get_logger(__name__)
_MAX_SHOWN = 20
_NO_FIELD = re.compile(r"[\[(]|^constrained-")
"""Parts of an error's path that name an alternative of a union, not a field."""
_ALLOWED = {
    "missing": "this field is required",
    "extra_forbidden": "only the fields that the API page names",
    "json_invalid": "valid JSON",
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_attributes_type": "an object",
    "timezone_aware": "a time with its zone, as in 2026-01-31T12:00:00Z",
}


def problem(error: JiyiError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, body and headers for an error."""
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


def install(app: FastAPI) -> None:
    """Makes an app answer every error in this form."""

    @app.exception_handler(JiyiError)
    async def _jiyi(request: Request, error: JiyiError) -> JSONResponse:
        status, body, headers = problem(error)
        if status >= 500:
            _log.error("request_failed", path=request.url.path, status=status, error=error.message)
        return _reply(status, body, headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        fields = _fields(error.errors())
        body = {
            "type": "about:blank",
            "title": "InvalidField",
            "status": 422,
            "detail": "; ".join(f"{entry['field']}: {entry['problem']}" for entry in fields),
            "errors": fields,
        }
        return _reply(422, body, {})

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> JSONResponse:
        body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(error.status_code).phrase}
        body["status"] = error.status_code
        body["detail"] = str(error.detail)
        if isinstance(error, BodyTooLarge):
            allowed = f"at most {error.max_bytes} bytes"
            body["errors"] = [{"field": "body", "problem": body["detail"], "allowed": allowed}]
        return _reply(error.status_code, body, dict(error.headers or {}))


def _reply(status: int, body: dict[str, Any], headers: dict[str, str]) -> JSONResponse:
    return JSONResponse(body, status_code=status, headers=headers, media_type="application/problem+json")


def _fields(errors: Sequence[Any]) -> list[dict[str, str]]:
    """One entry a field that is wrong: its path, what is wrong with it, what is allowed."""
    entries: dict[str, dict[str, str]] = {}
    for error in errors:
        path = [str(part) for part in error["loc"][1:]]  # the first says whether it is of the body or the query
        path = [part for part in path if not _NO_FIELD.search(part)]
        field = "body" if error["type"] == "json_invalid" or not path else ".".join(path)
        message = str(error["msg"]).removeprefix("Value error, ")
        entry = {"field": field, "problem": message, "allowed": _allowed(error)}
        entries.setdefault(field, entry)  # the alternatives of a union each complain of the same field
    return list(entries.values())[:_MAX_SHOWN]


def _allowed(error: Any) -> str:
    """What the rule that was broken lets through, in words."""
    if error["type"] in _ALLOWED:
        return _ALLOWED[error["type"]]
    limits = {name: value for name, value in error.get("ctx", {}).items() if isinstance(value, (str, int, float))}
    return ", ".join(f"{name} {value}" for name, value in limits.items()) or str(error["msg"])
