"""What is sent and what comes back, without sending it: the descriptions that both clients share."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, get_type_hints
from urllib.parse import quote

import httpx
from httpx_sse import ServerSentEvent
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json, to_jsonable_python

from ..errors import UnexpectedReply

R = TypeVar("R")
E = TypeVar("E")
Item_co = TypeVar("Item_co", covariant=True)
_SAFE = frozenset({"GET", "PUT", "DELETE"})


class Page(Protocol[Item_co]):
    """A page of a list, and where the next one begins; None on the last."""

    @property
    def results(self) -> tuple[Item_co, ...]:
        """What is on it."""

    @property
    def next(self) -> str | int | None:
        """The cursor of the page after it."""


P = TypeVar("P", bound=Page[Any])


@dataclass(frozen=True)
class Call(Generic[R]):
    """A request whose reply is an `R`.

    Attributes:
        repeatable: Whether carrying it out twice is harmless.
        upload: Gives the body in pieces, anew for each attempt.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    upload: Callable[[], Iterator[bytes]] | None = None
    form: Mapping[str, str] | None = None
    files: Mapping[str, tuple[str, bytes, str]] | None = None

    @property
    def content(self) -> dict[str, Any]:
        """The arguments of httpx, but for an upload."""
        given: dict[str, Any] = {"params": to_jsonable_python(self.params), "headers": dict(self.headers)}
        if self.body is not None:
            given["content"] = to_json(self.body)
            given["headers"]["content-type"] = "application/json"
        if self.files is not None:
            given |= {"data": self.form, "files": self.files}
        return given


@dataclass(frozen=True)
class Paged(Generic[P, E]):
    """A list of `E` in pages `P`; `cursor` is the parameter that takes `next` of the page before."""

    call: Call[P]
    cursor: str = "after"

    def behind(self, page: Page[E]) -> "Call[P] | None":
        """The call for the next page; None where there is none."""
        if page.next is None:
            return None
        return replace(self.call, params={**self.call.params, self.cursor: page.next})


@dataclass(frozen=True)
class Streamed(Generic[E]):
    """A stream of server-sent events, each read as an `E`.

    Attributes:
        read: Reads an event; None for one that is not for the caller. Raises the error that an event tells of.
        is_last: Whether nothing comes behind this event.
        resumes: Whether it goes on behind the last event when it is called again.
    """

    call: Call[Any]
    read: Callable[[ServerSentEvent], E | None]
    is_last: Callable[[ServerSentEvent], bool]
    resumes: bool = False

    def behind(self, event_id: str | None) -> Call[Any]:
        """The call for what comes behind an event."""
        if event_id is None or not self.resumes:
            return self.call
        return replace(self.call, headers={**self.call.headers, "Last-Event-ID": event_id})


@dataclass(frozen=True)
class Download:
    """A body that is taken in pieces."""

    call: Call[Any]


def call(method: str, path: str, **options: Any) -> Call[Any]:
    """A call; what only reads, or says what is to be, may be repeated unless `repeatable` says otherwise."""
    return Call(method, path, **{"repeatable": method in _SAFE, **options})


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def segment(text: str) -> str:
    """Text as one part of a path."""
    return quote(text, safe="")


def reply_type(describe: Callable[..., Any], argument: int = 0) -> Any:
    """What a description says that it returns: of `-> Call[R]`, `R`."""
    return get_type_hints(describe)["return"].__args__[argument]


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Reads and checks replies of a type."""
    return TypeAdapter(kind)


def parsed(kind: Any, response: httpx.Response) -> Any:
    """A successful response as a value; fields that this version does not know are left out.

    Raises:
        UnexpectedReply: It is none.
    """
    if kind is str:
        return response.text
    return read_json(kind, response.content, f"{response.request.method} {response.request.url.path}")


def read_json(kind: Any, content: bytes | str, what: str) -> Any:
    """JSON as a value.

    Raises:
        UnexpectedReply: It is none.
    """
    try:
        return adapter(kind).validate_json(content, extra="ignore")
    except ValidationError as error:
        where = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:3])
        raise UnexpectedReply(f"{what}: {where}") from error


def problem_of(event: ServerSentEvent) -> dict[str, Any]:
    """The body of an event that tells of an error."""
    return dict(json.loads(event.data))
