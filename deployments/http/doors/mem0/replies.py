"""Paths and errors as clients of mem0 send and expect them, whoever replies: routes, authentication or limits."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from ...support.failures import Door
from ...support.problems import replies

PREFIX = "/mem0"
_SLASHES = re.compile("/{2,}")
_STATUS = {422: 400}
"""Its document knows no 422: what is wrong with a request is 400."""


class ErrorReply(BaseModel):
    """An error: its clients read `detail`, its document has `error`."""

    detail: str
    error: str
    errors: list[dict[str, str]] = []


def mem0_error(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
    """A problem as status, body and headers."""
    status = int(problem["status"])
    body = ErrorReply(detail=problem["detail"], error=problem["detail"], errors=problem.get("errors") or [])
    return _STATUS.get(status, status), body.model_dump(exclude_defaults=True), {}


def whole_path(path: str) -> str:
    """A path with single slashes and one at its end: clients join host and path as texts, and follow no redirect."""
    return _SLASHES.sub("/", f"{path}/")


MEM0 = Door(mem0_error, replies, ErrorReply, whole_path)
