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
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from memory.values.errors import (
    BadRequest,
    Conflict,
    CorpusNotFound,
    DatabaseError,
    EmbeddingFailed,
    Forbidden,
    InvalidChunkSize,
    InvalidField,
    InvalidMetadata,
    InvalidSearchConfig,
    JiyiError,
    KnowledgeNotFound,
    ModelUnavailable,
    NotFound,
    Overloaded,
    SearchError,
    StoreUnavailable,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)

from ...remote.chat_upstream import UpstreamRefused

STATUS: dict[type[JiyiError], int] = {
    InvalidChunkSize: 400,
    InvalidMetadata: 400,
    InvalidSearchConfig: 400,
    EmbeddingFailed: 500,
    SearchError: 500,
    DatabaseError: 500,
    InvalidField: 422,
    Unauthenticated: 401,
    Forbidden: 403,
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

_EVENTS: dict[type[JiyiError], str] = {
    CorpusNotFound: "corpus_not_found",
    KnowledgeNotFound: "knowledge_not_found",
    VersionConflict: "version_conflict",
    InvalidChunkSize: "validation_error",
    InvalidMetadata: "validation_error",
    InvalidSearchConfig: "validation_error",
    DatabaseError: "database_error",
    EmbeddingFailed: "infrastructure_error",
    SearchError: "infrastructure_error",
}
"""The log events of errors of the knowledge base, with `details` (004 §9.2); others have `request_failed`."""

PROBLEM_JSON = "application/problem+json"
_DESCRIBED = {
    400: "The request is malformed, or `Host` is no name of the service.",
    401: "There is no valid credential, where the service asks for one.",
    403: "The credential does not allow this, a field names another user than its own, or another site's page sent it.",
    404: "What was named is not there, for this user.",
    408: "The body did not come in time.",
    409: "It cannot be done as things are.",
    413: "The body is too large.",
    422: "A field is not as it must be: `errors` names it and says what is allowed.",
    429: "Too many requests, or too much is waiting.",
    500: "The knowledge base cannot answer: a store or model behind it is away.",
    503: "A part of the service is away.",
}
COMMON = (400, 403, 408, 413, 422, 429, 503)
"""Statuses that any route replies with."""

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
    "session_name": "1 to 128 characters without control characters and slashes, and neither . nor ..",
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
    if isinstance(error, VersionConflict):
        body["errors"] = [
            {
                "field": f"expected_versions.{id_}",
                "problem": "it was changed since",
                "allowed": f"{version}, the version that it has now",
            }
            for id_, version in error.versions.items()
        ]
    if isinstance(error, Forbidden) and error.field:
        body["errors"] = [
            {"field": error.field, "problem": error.message, "allowed": "the user or app of the credential"}
        ]
    if isinstance(error, UpstreamRefused):
        body |= {"code": error.code, "param": error.param or None}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="jiyi"'
    if isinstance(error, Overloaded):
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, Unavailable):
        body["component"] = error.component
        headers["Retry-After"] = "1"
    return status, body, headers


def details_of(error: JiyiError) -> dict[str, Any]:
    """The message of an error and its extras."""
    extras = {name: value for name, value in vars(error).items() if value}
    return {"error": type(error).__name__, **extras}


def problem_response(error: JiyiError) -> JSONResponse:
    """The reply to an error."""
    return _reply(*problem(error))


class FieldProblem(BaseModel):
    """A part of a request that is not as it must be."""

    field: str
    problem: str
    allowed: str


class Problem(BaseModel):
    """An error (RFC 9457). `errors` names fields, `component` the part of Jiyi that cannot answer."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []
    component: str = ""


def replies(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of routes that reply with these statuses, for the OpenAPI document."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    described: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        described[status] = {"description": _DESCRIBED[status], "content": {PROBLEM_JSON: {"schema": schema}}}
        if status in (429, 503):
            described[status]["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}
    return described


def install_error_handlers(app: FastAPI) -> None:
    """Makes an app reply to every error with `application/problem+json`."""

    @app.exception_handler(JiyiError)
    async def _handle_jiyi_error(request: Request, error: JiyiError) -> JSONResponse:
        status, body, headers = problem(error)
        if event := _EVENTS.get(type(error)):
            log = _log.error if status >= 500 else _log.warning
            log(event, path=request.url.path, status=status, details=details_of(error))
        elif status >= 500:
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


def defect_problem() -> JSONResponse:
    """The reply to a request that failed by a defect of ours."""
    detail = "an unexpected error; the log of the ingress has it with the id of the request (X-Request-Id)"
    return _reply(500, {"type": "about:blank", "title": "InternalError", "status": 500, "detail": detail}, {})


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
    return JSONResponse(body, status_code=status, headers=headers, media_type=PROBLEM_JSON)


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
