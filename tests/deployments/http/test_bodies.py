"""Limits of request bodies: what is too large, too slow or too much is refused before it is parsed."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from deployments.config.access_settings import LimitArgs
from deployments.http.support import bodies
from deployments.http.support.bodies import MAX_DEPTH, MAX_MEMBERS, MAX_VALUES, BodyLimit, excess
from deployments.http.support.services import Services
from tests.deployments.serving import serving

LIMITS = LimitArgs()
JSON = {"content-type": "application/json"}


async def _in_pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


@pytest.mark.parametrize("path", ["/chat", "/index/rebuild", "/nothing"])
@pytest.mark.parametrize("declared", [True, False])
async def test_a_large_body_is_refused_on_every_path(http: httpx.AsyncClient, path: str, declared: bool) -> None:
    content = b" " * (LIMITS.body_bytes + 1)
    reply = await http.post(path, content=content if declared else _in_pieces(content), headers=JSON)
    assert (reply.status_code, reply.headers["content-type"]) == (413, "application/problem+json")
    assert reply.json()["errors"] == [
        {"field": "body", "problem": "body: larger than 1048576 bytes", "allowed": "at most 1048576 bytes"}
    ]


async def test_nothing_of_a_declared_large_body_is_read() -> None:
    async def receive() -> Message:
        raise AssertionError("the body was read")

    scope = {"type": "http", "path": "/chat", "headers": [(b"content-length", b"30000000")]}
    start, _ = await _answer(scope, receive)
    assert start["status"] == 413


@pytest.mark.parametrize("path", sorted(bodies.BULK_PATHS))
async def test_bulk_routes_take_more(http: httpx.AsyncClient, path: str) -> None:
    text = "w" * 30_000
    body: dict[str, Any] = (
        {"user_id": "ann", "messages": [{"content": text}] * 40, "wait": False}
        if path == "/memories"
        else {"input": [text] * 40}
    )
    assert len(json.dumps(body)) > LIMITS.body_bytes
    status = (await http.post(path, json=body)).status_code
    assert status == 200 if path in ("/memories", "/v1/embeddings") else status != 413  # others want other bodies


@pytest.mark.parametrize(
    "content",
    [
        b"{" + b",".join(b'"k%d":1' % key for key in range(2_000_000)) + b"}",
        b'{"user_id":"a","message":"b","metadata":{' + b",".join(b'"k%d":1' % key for key in range(100_000)) + b"}}",
        b"[" + b"1," * 100_000 + b"1]",
        b"[" * 1000 + b"]" * 1000,
    ],
    ids=["two million unknown keys", "metadata", "list", "depth"],
)
async def test_too_many_values_are_refused_before_they_are_parsed(
    services: Services, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: Any, **__: Any) -> None:
        raise AssertionError("the body was parsed")

    monkeypatch.setattr("json.loads", parse)
    limits = LimitArgs(body_bytes=100_000_000)
    async with serving(services, limits=limits) as client:
        reply = await client.post("/chat", content=content, headers=JSON)
    assert reply.status_code == 422
    [error] = orjson.loads(reply.content)["errors"]
    assert (error["field"], error["allowed"].startswith("at most ")) == ("body", True)


async def test_a_slow_body_is_given_up(services: Services) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(3600)

    async with serving(services, limits=LimitArgs(body_timeout_s=0.01)) as client:
        reply = await client.post("/chat", content=slow(), headers=JSON)
    assert (reply.status_code, reply.headers["content-type"]) == (408, "application/problem+json")


def _values(value: Any) -> Iterator[tuple[int, int, int]]:
    """Of each list and object in a value: its depth, its members where it is an object, its commas."""
    waiting = [(1, value)]
    while waiting:
        depth, value = waiting.pop()
        if isinstance(value, dict | list):
            yield depth, len(value) if isinstance(value, dict) else 0, max(len(value) - 1, 0)
            waiting += [(depth + 1, part) for part in (value.values() if isinstance(value, dict) else value)]


TEXTS = st.text('"\\{}[],: a字\n', max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
DOCUMENTS = st.recursive(
    SCALARS, lambda parts: st.lists(parts, max_size=5) | st.dictionaries(TEXTS, parts, max_size=5), max_leaves=30
)


@given(document=DOCUMENTS, ascii_only=st.booleans())
def test_what_is_too_much_is_what_a_parser_finds(document: Any, ascii_only: bool) -> None:
    found = list(_values(document))
    expected = (
        any(depth > 3 for depth, _, _ in found)
        or any(members > 3 for _, members, _ in found)
        or sum(commas for _, _, commas in found) > 8
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in (("MAX_DEPTH", 3), ("MAX_VALUES", 8)):
            patch.setattr(bodies, name, limit)
        content = json.dumps(document, ensure_ascii=ascii_only).encode()
        assert (excess(content, 3) is not None) == expected, content


@given(content=st.binary(max_size=200) | TEXTS.map(str.encode))
def test_anything_may_be_sent(content: bytes) -> None:
    excess(content * 50)


def test_the_largest_valid_bodies_are_no_excess() -> None:
    metadata = {f"key {number}, [{{": '",' * 10 for number in range(32)}
    turns = [{"role": "user", "content": ',"{[' * 20, "turn_id": "1", "metadata": metadata}] * 256
    assert excess(orjson.dumps({"user_id": "ann", "messages": turns})) is None
    assert excess(orjson.dumps({"input": ["a,b"] * 512})) is None


def test_the_limits_are_what_they_say() -> None:
    assert excess(orjson.dumps({str(key): 1 for key in range(MAX_MEMBERS)})) is None
    assert excess(orjson.dumps({str(key): 1 for key in range(MAX_MEMBERS + 1)})) is not None
    assert excess(orjson.dumps([1] * (MAX_VALUES + 1))) is None
    assert excess(orjson.dumps([1] * (MAX_VALUES + 2))) is not None
    assert excess(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is None
    assert excess(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)) is not None


async def _answer(scope: dict[str, Any], receive: Any) -> list[Message]:
    async def app(*_: Any) -> None:
        raise AssertionError("the request was passed on")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await BodyLimit(app, LIMITS)(scope, receive, send)
    return sent
