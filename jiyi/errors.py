"""What can go wrong with a call of the client, as one tree; each error says what to do.

```
ClientError
├── Unreachable         nothing answers at this address
├── Interrupted         the connection ended within a stream or a download
├── UnexpectedReply     an answer that this version of the client cannot read
└── Refused             the service said no; `status`, `title`, `fields`, `component`, `request_id`
    ├── InvalidRequest  400, 413, 422: something of the request is wrong; `fields` says what
    ├── Unauthenticated 401: no valid credential
    ├── Forbidden       403: the credential does not allow it
    ├── NotFound        404: what was named is not there
    ├── Conflict        409: it cannot be done as things are
    ├── Overloaded      408, 429: come back in `retry_after_s`
    └── ServiceFailed   5xx: the service, or a part of it, cannot answer
```

Every error survives pickling: the message is its only positional argument.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx

from .client.retrying import retry_after_s


class ClientError(Exception):
    """A call failed.

    Attributes:
        advice: What to do about it; also a note of the exception, which tracebacks show.
    """

    advice: ClassVar[str] = ""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if self.advice:
            self.add_note(self.advice)


class Unreachable(ClientError):
    """Nothing answered, for as long as the client had patience. The service may have carried the call out."""

    advice = "Is the service running, and is this its address? Start it with: jiyi up"


class Interrupted(ClientError):
    """The connection ended within a stream or a download."""

    advice = "Call it again; a message with the same turn_id is kept once."


class UnexpectedReply(ClientError):
    """The reply is not what this version of the client knows."""

    advice = "Is this address that of a Jiyi service, and of the version of this client?"


@dataclass(frozen=True)
class FieldProblem:
    """A field of a request that is not as it must be: its path, what is wrong, what is allowed."""

    field: str
    problem: str
    allowed: str


class Refused(ClientError):
    """The service refused a call.

    Attributes:
        status: HTTP status.
        title: The name of the error in the service.
        fields: What is wrong with which field of the request.
        component: The part of the service that is away.
        retry_after_s: When to come back, in seconds, where the service says it.
        request_id: What the logs of the service call this request.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        title: str = "",
        fields: tuple[FieldProblem, ...] = (),
        component: str = "",
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.title = title
        self.fields = fields
        self.component = component
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        for wrong in fields:
            self.add_note(f"{wrong.field}: allowed is {wrong.allowed}")


class InvalidRequest(Refused):
    """Something of the request is wrong; nothing was changed."""

    advice = "Change what `fields` names, and call it again."


class Unauthenticated(Refused):
    """There is no valid credential."""

    advice = "Give api_key=…, or set JIYI_API_KEY. An operator makes one with: jiyi keys create"


class Forbidden(Refused):
    """The credential does not allow this."""

    advice = "Use a key of a wider scope, or name the user or app that the key belongs to."


class NotFound(Refused):
    """What was named is not there, for this user."""

    advice = "Look at the id, and at whose it is; what is newer than the service has no route there."


class Conflict(Refused):
    """It cannot be done as things are; nothing was changed."""

    advice = "Read it again, and decide by what is there now."


class Overloaded(Refused):
    """Too much is waiting; nothing was done."""

    advice = "Call it again after `retry_after_s`, or give the client more patience_s."


class ServiceFailed(Refused):
    """The service, or the part of it that `component` names, cannot answer."""

    advice = "See what is away with: jiyi status. Its logs have the request by `request_id`."


_OF_STATUS: dict[int, type[Refused]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    408: Overloaded,
    409: Conflict,
    413: InvalidRequest,
    422: InvalidRequest,
    429: Overloaded,
}


def refusal(response: httpx.Response) -> Refused:
    """The error for a response that is none of success and was read."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": response.text[:200] or response.reason_phrase}
    return refusal_of(
        problem,
        status=response.status_code,
        retry_after=retry_after_s(response),
        request_id=response.headers.get("X-Request-Id", ""),
    )


def refusal_of(
    problem: Mapping[str, Any], *, status: int, retry_after: float | None = None, request_id: str = ""
) -> Refused:
    """The error for a body of `application/problem+json`."""
    kind = _OF_STATUS.get(status, ServiceFailed if status >= 500 else Refused)
    return kind(
        f"{status}: {problem.get('detail') or problem.get('title')}",
        status=status,
        title=str(problem.get("title", "")),
        fields=tuple(
            FieldProblem(*(str(each.get(name, "")) for name in ("field", "problem", "allowed")))
            for each in problem.get("errors", ())
        ),
        component=str(problem.get("component", "")),
        retry_after_s=retry_after,
        request_id=request_id,
    )
