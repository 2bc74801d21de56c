"""Bad input: a 4xx that names the field and what is allowed, and nothing is changed."""

from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services

CHAT = {"user_id": "ann", "message": "hello"}


def case(path: str, field: str, **body: Any) -> Any:
    return pytest.param(path, field, body, id=f"{path} {field} {str(body)[:40]}")


@pytest.mark.parametrize(
    ("path", "field", "body"),
    [
        case("/chat", "user_id", message="hello"),
        case("/chat", "message", user_id="ann"),
        case("/chat", "message", user_id="ann", message=""),
        case("/chat", "message", user_id="ann", message="  \n "),
        case("/chat", "message", user_id="ann", message="a" * 1_000_000),
        case("/chat", "message", user_id="ann", message=["a list"]),
        case("/chat", "message", user_id="ann", message=7),
        case("/chat", "message", user_id="ann", message="bell \x07"),
        case("/chat", "message", user_id="ann", message="nul \x00"),
        case("/chat", "user_id", user_id="", message="hello"),
        case("/chat", "user_id", user_id="a\nb", message="hello"),
        case("/chat", "user_id", user_id="x" * 129, message="hello"),
        case("/chat", "user_id", user_id=12, message="hello"),
        case("/chat", "colour", colour="red", **CHAT),
        case("/chat", "top_k", top_k=0, **CHAT),
        case("/chat", "top_k", top_k="8", **CHAT),
        case("/chat", "top_k", top_k=True, **CHAT),
        case("/chat", "stream", stream="yes", **CHAT),
        case("/chat", "metadata.list", metadata={"list": [1]}, **CHAT),
        *(
            case(path, "session_id", user_id="ann", session_id=session_id, **body)
            for path, body in {
                "/chat": {"message": "hello"},
                "/chat/before": {"message": "hello"},
                "/chat/after": {"message": "hello"},
                "/memories": {"text": "hello"},
                "/resolve": {"query": "hello"},
            }.items()
            for session_id in ("a/b", "/", ".", "..")
        ),
        case("/chat", "created_at", created_at="2026-01-01", **CHAT),
        case("/chat", "metadata.key", metadata={"key": "0" * 2000}, **CHAT),
        case("/resolve", "query", user_id="ann"),
        case("/resolve", "body", user_id="ann", query="it?", session_id="s", history=[]),
        case("/resolve", "history.0.role", user_id="ann", query="it?", history=[{"role": "dog", "content": "x"}]),
        case("/entities/extract", "text", user_id="ann", text=""),
        case("/ingest", "content", user_id="ann"),
        case("/ingest", "source", user_id="ann", content="x", source="mail"),
        case("/extract", "body", user_id="ann"),
        case("/extract", "body", user_id="ann", text="x", resource_id="y"),
        case("/memories", "body", user_id="ann"),
        case("/memories", "messages", user_id="ann", messages=[]),
        case("/memories", "messages.0.content", user_id="ann", messages=[{"content": "\x1b[31m"}]),
        case("/memories", "created_at", user_id="ann", text="x", created_at="2026-01-01T00:00:00"),
        case("/search", "query", user_id="ann", query=""),
        case("/search", "filters.size", user_id="ann", query="x", filters={"size": 3}),
        case("/search", "kinds", user_id="ann", query="x", kinds=[]),
        case("/index/verify", "mend", mend="yes"),
        case("/index/verify", "repair", repair=True),
    ],
)
async def test_each_is_refused_by_name(
    http: httpx.AsyncClient, services: Services, path: str, field: str, body: dict[str, Any]
) -> None:
    reply = await http.post(path, json=body)
    assert reply.status_code == 422, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    errors = reply.json()["errors"]
    named = [error["field"] for error in errors]
    assert any(name == field or name.startswith(f"{field}.") for name in named), named
    assert all(error["problem"] and error["allowed"] for error in errors), errors
    assert not any("[" in name for name in named), named
    assert (await services.record.backlog.counts())["resources"] == 0


@pytest.mark.parametrize(
    ("path", "body", "allowed"),
    [
        ("/chat", {"message": "hello"}, "this field is required"),
        ("/chat", {"top_k": 0, **CHAT}, "at least 1"),
        ("/chat", {"top_k": 101, **CHAT}, "at most 100"),
        ("/chat", {"user_id": "x" * 129, "message": "hello"}, "at most 128 characters"),
        ("/chat", {"user_id": "a\nb", "message": "hello"}, "text without control characters"),
        ("/memories", {"user_id": "ann", "messages": []}, "at least 1 entry"),
        ("/resolve", {"user_id": "ann", "query": "it?", "history": [{"role": "dog", "content": "x"}]}, "'assistant'"),
        ("/memories", {"user_id": "ann", "text": "x", "created_at": "monday"}, "a time with a time zone"),
        ("/memories", {"user_id": "ann", "text": "x", "created_at": 0}, "a time with a time zone"),
        ("/memories", {"user_id": "ann", "text": "x", "created_at": "1700000000"}, "a time with a time zone"),
    ],
)
async def test_what_is_allowed_is_said_in_words(
    http: httpx.AsyncClient, path: str, body: dict[str, Any], allowed: str
) -> None:
    [error] = (await http.post(path, json=body)).json()["errors"]
    assert allowed in error["allowed"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"text"', b'{"user_id": "ann", "message": "\\ud800"}', b"\xff\xfe", b"null"]
)
async def test_a_body_that_is_no_request_is_refused(http: httpx.AsyncClient, content: bytes) -> None:
    reply = await http.post("/chat", content=content, headers={"content-type": "application/json"})
    assert 400 <= reply.status_code < 500, reply.text


async def test_the_missing_user_of_a_get_is_named_too(http: httpx.AsyncClient) -> None:
    reply = await http.get("/entities")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "user_id")


@pytest.mark.parametrize(
    ("path", "field", "allowed"),
    [
        ("/sessions/a%2Fb", "session_id", "slashes"),
        ("/sessions/a%0Ab", "session_id", "without control characters"),
        ("/sessions/a%0A", "session_id", "without control characters"),
        ("/sessions/%2E%2E%2Fb", "session_id", "slashes"),
        ("/entities/x/related?depth=4", "depth", "at most 3"),
    ],
)
async def test_what_cannot_be_read_is_refused_by_name(
    http: httpx.AsyncClient, path: str, field: str, allowed: str
) -> None:
    reply = await http.get(path, params={"user_id": "ann", **httpx.URL(path).params})
    assert reply.status_code == 422, reply.text
    [error] = reply.json()["errors"]
    assert error["field"] == field
    assert allowed in error["allowed"]


async def test_a_whole_number_may_be_written_with_a_point(http: httpx.AsyncClient) -> None:
    content = b'{"user_id": "ann", "query": "x", "top_k": 94.0}'
    reply = await http.post("/search", content=content, headers={"content-type": "application/json"})
    assert reply.status_code == 200
    refused = await http.post("/search", json={"user_id": "ann", "query": "x", "top_k": 9.5})
    assert (refused.status_code, refused.json()["errors"][0]["allowed"]) == (422, "an integer")


async def test_an_unknown_path_is_a_problem_too(http: httpx.AsyncClient) -> None:
    reply = await http.get("/nothing")
    assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json")
