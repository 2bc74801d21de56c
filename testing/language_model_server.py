"""An OpenAI-compatible endpoint on the loopback interface: it checks requests as the API does, and fails on request.

It has no model: answers are queued, or a function makes them. What is checked: the path, the key, the fields that the
API requires, and the rules of strict schemas (every property required, no others allowed).
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

Body = dict[str, Any]
Reply = Callable[[Request, Body], Awaitable[Response]]
_FIELDS = {
    *("model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "response_format", "stream"),
    *("stream_options", "tools", "tool_choice", "parallel_tool_calls", "n", "stop", "seed", "prompt_cache_key"),
    *("presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "reasoning_effort"),
}
_ROLES = {"system", "developer", "user", "assistant", "tool"}


class LanguageModelServer:
    """The endpoint; use it as a context manager.

    Args:
        key: The key that requests must have; None where they must have none.

    Attributes:
        requests: The bodies of all requests that were understood.
        headers: Their headers.
        otherwise: Makes the answer when none is queued.
    """

    def __init__(self, *, key: str | None = None) -> None:
        self.key = key
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.otherwise: Callable[[Body], str] = lambda body: "ok"
        self._replies: deque[Reply] = deque()
        app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])
        self._server = uvicorn.Server(
            uvicorn.Config(app, port=0, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> LanguageModelServer:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL of the API."""
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/v1"

    def answer(self, *texts: str | Body, finish_reason: str = "stop") -> None:
        """Queues answers; a dict is sent as JSON."""
        for text in texts:
            content = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
            self._replies.append(_replying(content, finish_reason))

    def call_tool(self, name: str, arguments: str, *, call_id: str = "call_1") -> None:
        """Queues an answer that calls a function, in pieces where it is streamed."""
        self._replies.append(_calling(name, arguments, call_id))

    def break_stream(self, text: str, *, error: Body | None = None) -> None:
        """Queues a stream that ends after a text with an error, or where there is none with a cut connection."""
        self._replies.append(_breaking(text, error))

    def fail(self, status: int, *, retry_after: str | None = None, times: int = 1, message: str = "injected") -> None:
        """Queues errors as the API words them."""
        headers = {"retry-after": retry_after} if retry_after is not None else None

        async def reply(request: Request, body: Body) -> Response:
            return _error(status, message, headers)

        self._replies.extend([reply] * times)

    def send(self, content: bytes, *, content_type: str = "application/json", times: int = 1) -> None:
        """Queues replies of status 200 that hold anything."""

        async def reply(request: Request, body: Body) -> Response:
            return Response(content, media_type=content_type)

        self._replies.extend([reply] * times)

    def redirect(self, url: str) -> None:
        """Queues a redirect that keeps the method and the body."""

        async def reply(request: Request, body: Body) -> Response:
            return Response(status_code=307, headers={"location": url})

        self._replies.append(reply)

    def hang(self, *, times: int = 1) -> None:
        """Queues requests that are never answered."""

        async def reply(request: Request, body: Body) -> Response:
            while not await request.is_disconnected():
                await asyncio.sleep(0.01)
            return Response()

        self._replies.extend([reply] * times)

    def drip(self, *, every_s: float = 0.05) -> None:
        """Queues a reply that comes byte by byte and has no end."""
        self._replies.append(_streaming(every_s=every_s))

    def cut(self, *, times: int = 1) -> None:
        """Queues connections that are closed in the middle of a reply."""
        self._replies.extend([_streaming(every_s=None)] * times)

    def forget(self) -> None:
        """Drops what is queued."""
        self._replies.clear()

    async def _complete(self, request: Request) -> Response:
        expected = None if self.key is None else f"Bearer {self.key}"
        if request.headers.get("authorization") != expected:
            return _error(401, f"Incorrect API key provided: {request.headers.get('authorization')}.")
        body: Body = await request.json()
        problems = list(_problems(body))
        if problems:
            return _error(400, " ".join(problems))
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        reply = self._replies.popleft() if self._replies else _replying(self.otherwise(body), "stop")
        return await reply(request, body)


def _replying(content: str, finish_reason: str) -> Reply:
    async def reply(request: Request, body: Body) -> Response:
        prompt = sum(len(str(message["content"])) for message in body["messages"]) // 4
        completion = len(content) // 4
        if body.get("stream"):
            half = len(content) // 2
            deltas = [{"content": part} for part in (content[:half], content[half:]) if part]
            return _events(body, deltas, finish_reason, prompt=prompt, completion=completion)
        message = {"role": "assistant", "content": content, "refusal": None}
        return JSONResponse(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1_700_000_000,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}],
                "usage": {
                    "prompt_tokens": prompt,
                    "completion_tokens": completion,
                    "total_tokens": prompt + completion,
                },
            }
        )

    return reply


def _calling(name: str, arguments: str, call_id: str) -> Reply:
    async def reply(request: Request, body: Body) -> Response:
        half = len(arguments) // 2
        head = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": part}} for part in (arguments[:half], arguments[half:])]
        deltas = [{"tool_calls": [piece]} for piece in (head, *pieces)]
        return _events(body, deltas, "tool_calls", prompt=1, completion=1)

    return reply


def _breaking(text: str, error: Body | None) -> Reply:
    async def reply(request: Request, body: Body) -> Response:
        async def lines() -> AsyncIterator[str]:
            yield _event(_chunk(body, {"role": "assistant", "content": text}))
            if error is None:
                raise ConnectionError("cut, as it was asked for")
            yield _event({"error": error})

        return StreamingResponse(lines(), media_type="text/event-stream")

    return reply


def _events(body: Body, deltas: list[Body], finish_reason: str, *, prompt: int, completion: int) -> Response:
    """A stream, as the API sends it: the role first, each piece, the reason of its end, and usage where it is asked."""
    chunks = [_chunk(body, {"role": "assistant", "content": ""})]
    chunks += [_chunk(body, delta) for delta in deltas]
    chunks.append(_chunk(body, {}, finish_reason))
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        chunks.append({**_chunk(body, {}), "choices": [], "usage": usage})

    async def lines() -> AsyncIterator[str]:
        for chunk in chunks:
            yield _event(chunk)
        yield "data: [DONE]\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


def _chunk(body: Body, delta: Body, finish_reason: str | None = None) -> Body:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
    }


def _event(data: Body) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


class _Unending(Response):
    def __init__(self, every_s: float | None) -> None:
        super().__init__()
        self._every_s = every_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"100000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"choices": [', "more_body": True})
        while self._every_s is not None and not await Request(scope, receive).is_disconnected():
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
            await asyncio.sleep(self._every_s)
        # Returning before the announced length was sent makes the server close the connection.


def _streaming(*, every_s: float | None) -> Reply:
    async def reply(request: Request, body: Body) -> Response:
        return _Unending(every_s)

    return reply


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return JSONResponse({"error": error}, status, headers)


def _problems(body: Body) -> Iterator[str]:
    """What the API refuses in a request."""
    yield from (f"Unrecognized request argument supplied: {name}." for name in body.keys() - _FIELDS)
    yield from (f"Missing required parameter: '{name}'." for name in ("model", "messages") if not body.get(name))
    for message in body.get("messages", ()):
        has_content = isinstance(message.get("content"), str | list) or message.get("tool_calls")
        if message.get("role") not in _ROLES or not has_content:
            yield "Invalid message."
    wanted = body.get("response_format") or {"type": "text"}
    if wanted["type"] == "json_schema":
        yield from _schema_problems(wanted["json_schema"]["schema"])


def _schema_problems(schema: Any) -> Iterator[str]:
    """Where a schema is not strict, as structured outputs want it."""
    if isinstance(schema, list):
        for part in schema:
            yield from _schema_problems(part)
    if not isinstance(schema, dict):
        return
    if "default" in schema:
        yield "'default' is not permitted."
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield "'additionalProperties' is required to be supplied and to be false."
        if set(schema.get("required", ())) != set(schema.get("properties", ())):
            yield "'required' is required to be supplied and to include every key in properties."
    for name in ("properties", "$defs"):
        for part in schema.get(name, {}).values():
            yield from _schema_problems(part)
    for name in ("items", "anyOf", "allOf"):
        yield from _schema_problems(schema.get(name, []))
