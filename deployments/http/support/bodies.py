"""The limits of request bodies, checked before anything parses them."""

import asyncio
import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...config.access_settings import LimitArgs
from .problems import http_problem

ITEM_PATHS = frozenset({"/store/items", "/store/items/search", "/store/batch", "/store/checkpoints/batch"})
"""Paths that take documents of callers, and so objects with more members."""
BULK_PATHS = frozenset(
    {
        *("/memories", "/v1/embeddings", "/v1/chat/completions", "/v1/responses", "/v1/rerank"),
        *("/mem0/v3/memories/add/", "/mem0/v1/batch/"),
        *ITEM_PATHS,
    }
)
"""Paths that take many texts or an image at once, and so `limits.bulk_body_bytes`."""
FILE_PATH = re.compile(r"/knowledge/base/[^/]+/ingest")
"""Paths that take files, and so `limits.file_body_bytes`."""
_FORM = "multipart/form-data"
STREAMED_PATHS = frozenset({"/import"})
"""Paths that take a body of JSON lines piece by piece, up to `limits.import_body_bytes`."""
NDJSON = "application/x-ndjson"
_PIECE_BYTES = 1_048_576
MAX_VALUES = 16_384
"""Values of a JSON body: more than the largest valid request has (256 turns with 32 entries of metadata each)."""
MAX_MEMBERS = 64
"""Members of one JSON object: twice as many as metadata may have."""
MAX_ITEM_MEMBERS = 1_024
"""Members of one JSON object where it may be a document of the caller."""
MAX_DEPTH = 16
_STRUCTURE = re.compile(rb'(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^"\[\]{},])*+([\[\]{},])', re.DOTALL)
"""A structural character of JSON and all before it; possessive, so that the time is linear in the length."""


class BodyLimit:
    """ASGI middleware that refuses bodies which are too large (413), too slow (408) or no request at all (422).

    It holds the body back until all of it has come, so a route never sees a part of one that is refused. Validation
    makes an error of each unknown key: the number of values is limited, so that errors are few before they are made.
    A streamed body is counted and timed while it is read, and the route checks it.

    Args:
        app: What takes the bodies.
        limits: How large they may be, and how long one may take to come.
        bulk_paths: Paths with `bulk_body_bytes`.
    """

    def __init__(self, app: ASGIApp, limits: LimitArgs, bulk_paths: frozenset[str] = BULK_PATHS) -> None:
        self._app = app
        self._limits = limits
        self._bulk_paths = bulk_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reads the body and passes it on in one message, or answers the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        bulk = scope["path"] in self._bulk_paths
        max_bytes = self._limits.bulk_body_bytes if bulk else self._limits.body_bytes
        takes_files = FILE_PATH.fullmatch(scope["path"]) is not None
        if takes_files:
            max_bytes = self._limits.file_body_bytes
        if streamed := scope["path"] in STREAMED_PATHS:
            max_bytes = self._limits.import_body_bytes
        too_large = http_problem(
            413, f"body: larger than {max_bytes} bytes", field="body", allowed=f"at most {max_bytes} bytes"
        )
        too_large.headers["connection"] = "close"  # the rest of the body is not read
        if _declared_length(Headers(scope=scope)) > max_bytes:
            await too_large(scope, receive, send)
            return
        if streamed:
            await self._app(scope, self._counted(receive), send)
            return
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    body += message.get("body", b"")
                    if len(body) > max_bytes:
                        await too_large(scope, receive, send)
                        return
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            detail = f"body: did not come within {self._limits.body_timeout_s:g} s"
            await http_problem(408, detail, headers={"connection": "close"})(scope, receive, send)
            return
        is_form = takes_files and Headers(scope=scope).get("content-type", "").startswith(_FORM)
        members = MAX_ITEM_MEMBERS if scope["path"] in ITEM_PATHS else MAX_MEMBERS
        if problem := None if is_form else excess(body, members):
            response = http_problem(
                422, f"body: {problem}", field="body", allowed=f"at most {problem.split(' ', 2)[2]}"
            )
            await response(scope, receive, send)
            return
        await self._app(scope, _replayed(bytes(body), receive), send)

    def _counted(self, receive: Receive) -> Receive:
        """A `receive` that ends with 413 or 408 where the body is too large or, for what came of it, too slow."""
        limits = self._limits
        loop = asyncio.get_running_loop()
        begin, size, is_whole = loop.time(), 0, False

        async def receive_counted() -> Message:
            nonlocal size, is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(begin + limits.body_timeout_s * (1 + size // _PIECE_BYTES)):
                    message = await receive()
            except TimeoutError:
                detail = f"body: less than 1 MiB came in {limits.body_timeout_s:g} s"
                raise HTTPException(408, detail, headers={"connection": "close"}) from None
            size += len(message.get("body", b""))
            is_whole = not message.get("more_body", False)
            if size > limits.import_body_bytes:
                detail = f"body: larger than {limits.import_body_bytes} bytes"
                raise HTTPException(413, detail, headers={"connection": "close"})
            return message

        return receive_counted


def excess(body: bytes | bytearray, max_members: int = MAX_MEMBERS) -> str | None:
    """What a JSON body has too much of, as in `more than 64 members in one object`; None where it has not.

    Of a body that is no JSON it says something or nothing; that is refused later.
    """
    opened = body.count(b"[") + body.count(b"{")
    if opened <= MAX_DEPTH and body.count(b",") < max_members:
        return None  # as nearly all are
    values = 0
    members: list[int] = []
    """Of each open object the members so far; negative for lists, whose number of entries a schema limits."""
    for match in _STRUCTURE.finditer(body):
        match match[1]:
            case b"{":
                members.append(1)
            case b"[":
                members.append(-MAX_VALUES)
            case b",":
                values += 1
                if members:
                    members[-1] += 1
            case _:
                if members:
                    members.pop()
        if values > MAX_VALUES:
            return f"more than {MAX_VALUES} values"
        if members and members[-1] > max_members:
            return f"more than {max_members} members in one object"
        if len(members) > MAX_DEPTH:
            return f"more than {MAX_DEPTH} levels of lists and objects"
    return None


def _declared_length(headers: Mapping[str, str]) -> int:
    declared = headers.get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 20 else 0


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body in one message, then what comes after it."""
    message: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def receive_replayed() -> Message:
        nonlocal message
        first, message = message, None
        return first or await receive()

    return receive_replayed
