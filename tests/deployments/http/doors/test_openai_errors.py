"""Errors of `/v1/…` as OpenAI's client reads them, whoever it is that refuses."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from deployments.config.access_settings import LimitArgs
from deployments.http.identity.authentication import Authenticator
from deployments.http.support.services import Services
from memory.ports.stores.coordination import RateLimiter
from memory.values.access.identity import KeyScope
from memory.values.errors import Overloaded, Unavailable

from .conftest import Door, open_door

MESSAGES: Any = [{"role": "user", "content": "hello"}]


class Refusing(RateLimiter):
    """Refuses the requests of one user."""

    async def take(self, *, user_id: str) -> None:
        if user_id == "busy":
            raise Overloaded("There were too many requests.", retry_after_s=7)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Door]:
    """A service that asks for credentials, refuses what `busy` sends, and takes bodies of 2 KiB."""

    def change(services: Services) -> Services:
        keys = services.authenticator.keys
        return replace(services, authenticator=Authenticator(keys=keys, required=True), limiter=Refusing())

    with open_door(change=change, limits=LimitArgs(body_bytes=2048, bulk_body_bytes=2048)) as opened:
        yield opened


@pytest.fixture(scope="module")
def keys(guarded: Door) -> dict[str, str]:
    async def create(services: Services) -> dict[str, str]:
        store = services.authenticator.keys
        ann = await store.create("ann", scope=KeyScope.USER, user="ann")
        app = await store.create("app", scope=KeyScope.APP)
        return {"ann": ann.secret, "app": app.secret}

    return dict(guarded.run(create))


def refused(kind: type[openai.APIStatusError], client: openai.OpenAI, **request: Any) -> openai.APIStatusError:
    with pytest.raises(kind) as caught:
        client.chat.completions.create(**({"model": "jiyi", "messages": MESSAGES} | request))
    error = caught.value
    assert error.response.headers["content-type"] == "application/json"
    assert set(error.response.json()["error"]) == {"message", "type", "param", "code"}
    assert error.response.headers["x-request-id"]
    return error


def test_a_field_is_named_with_what_it_may_be(guarded: Door, keys: dict[str, str]) -> None:
    client = guarded.client(None, api_key=keys["app"])
    error = refused(openai.BadRequestError, client, messages=[])
    assert (error.param, error.code, error.type) == ("messages", "invalid_field", "invalid_request_error")
    assert "at least 1 entry" in error.message
    error = refused(openai.BadRequestError, client, extra_headers={"X-Jiyi-Session": "a/b"})
    assert error.param == "X-Jiyi-Session"
    error = refused(openai.BadRequestError, client, metadata={"thread_id": "a/b"})
    assert error.param == "metadata.thread_id"


def test_a_model_that_is_not_there(guarded: Door, keys: dict[str, str]) -> None:
    error = refused(openai.NotFoundError, guarded.client(None, api_key=keys["app"]), model="gpt-none")
    assert error.code == "model_not_found"
    assert "jiyi" in error.message


def test_a_missing_credential(guarded: Door) -> None:
    error = refused(openai.AuthenticationError, guarded.client(None, api_key="sk-wrong"))
    assert (error.type, error.code) == ("authentication_error", "invalid_api_key")
    assert error.response.headers["www-authenticate"].startswith("Bearer")
    assert error.response.headers["x-should-retry"] == "false"


def test_a_person_who_is_not_that_of_the_key(guarded: Door, keys: dict[str, str]) -> None:
    client = guarded.client(None, api_key=keys["ann"])
    assert client.chat.completions.create(model="jiyi", messages=MESSAGES, user="ann").choices
    assert client.chat.completions.create(model="jiyi", messages=MESSAGES, safety_identifier="hash").choices
    claims: dict[str, dict[str, Any]] = {
        "user": {"user": "bob"},
        "X-Jiyi-User": {"extra_headers": {"X-Jiyi-User": "bob"}},
    }
    for field, request in claims.items():
        error = refused(openai.PermissionDeniedError, client, **request)
        assert (error.type, error.param) == ("permission_error", field)


def test_too_many_requests_are_to_be_sent_later(guarded: Door, keys: dict[str, str]) -> None:
    error = refused(openai.RateLimitError, guarded.client(None, api_key=keys["app"]), user="busy")
    assert (error.type, error.code) == ("rate_limit_error", "rate_limit_exceeded")
    assert error.response.headers["retry-after"] == "7"
    assert "x-should-retry" not in error.response.headers


def test_a_body_that_is_too_large(guarded: Door, keys: dict[str, str]) -> None:
    client = guarded.client(None, api_key=keys["app"])
    error = refused(openai.APIStatusError, client, messages=[{"role": "user", "content": "long " * 1000}])
    assert (error.status_code, error.param) == (413, "body")


def test_a_method_that_is_not_there(guarded: Door, keys: dict[str, str]) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        guarded.client(None, api_key=keys["app"]).get("/chat/completions", cast_to=openai.BaseModel)
    assert caught.value.status_code == 405
    assert caught.value.response.headers["allow"] == "POST"
    assert caught.value.type == "invalid_request_error"


def test_a_part_that_is_away(door: Door, person: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise Unavailable("The record is away.", component="record")

    monkeypatch.setattr(door.services.additions, "add_turn", away)
    error = refused(openai.InternalServerError, door.client(person))
    assert (error.status_code, error.type, error.code) == (503, "server_error", "unavailable")
    assert error.response.headers["retry-after"] == "1"
    with pytest.raises(openai.APIError, match="The record is away") as caught:
        list(door.client(person).chat.completions.create(model="jiyi", messages=MESSAGES, stream=True))
    assert caught.value.code == "unavailable"


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("input", {"input": ""}),
        ("input", {"input": []}),
        ("input", {"input": ["x"] * 513}),
        ("model", {"input": "x", "model": "another"}),
        ("dimensions", {"input": "x", "dimensions": 3}),
    ],
)
def test_embeddings_name_the_field(door: Door, field: str, body: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        door.client(None).embeddings.create(**({"model": "fake"} | body))
    assert caught.value.param == field
