"""Language models over HTTP: the real client, a server that speaks the protocol, and everything that goes wrong."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
from pydantic import BaseModel, ConfigDict, SecretStr
from structlog.testing import capture_logs

from deployments.config.language_model_settings import EndpointArgs
from deployments.remote.language_model import EndpointModel, FallbackModel
from memory.ports.models.chat_models import (
    LANGUAGE_MODEL,
    AnswerSchema,
    ChatModel,
    ChatReply,
    ChatRequest,
    ChatRole,
    ModelMessage,
    ToolDefinition,
)
from memory.prompting.facts import SCHEMA as FACTS
from memory.prompting.summaries import SCHEMA as SUMMARY
from memory.values.errors import ModelUnavailable
from testing.fakes.chat_model import FakeChatModel
from testing.language_model_server import LanguageModelServer

KEY = "sk-distinctive-key"
SECRET_TEXT = "my locker code is 4711"


class _Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    words: list[str] = []


def request(
    text: str = SECRET_TEXT, *, schema: AnswerSchema | None = None, timeout_s: float | None = None
) -> ChatRequest:
    messages = (
        ModelMessage(role=ChatRole.SYSTEM, content="Answer."),
        ModelMessage(role=ChatRole.USER, content=text),
    )
    return ChatRequest(messages=messages, answer_schema=schema, max_tokens=200, timeout_s=timeout_s)


@pytest.fixture
def server() -> Iterator[LanguageModelServer]:
    with LanguageModelServer(key=KEY) as running:
        yield running


@pytest.fixture
def other() -> Iterator[LanguageModelServer]:
    with LanguageModelServer() as running:
        yield running


def endpoint(server: LanguageModelServer, **settings: object) -> EndpointArgs:
    given = {"base_url": server.url, "model": "tiny", "max_retries": 0, "timeout_s": 5.0}
    return EndpointArgs.model_validate(given | {"api_key": SecretStr(server.key) if server.key else None} | settings)


@asynccontextmanager
async def opened(server: LanguageModelServer, **settings: object) -> AsyncIterator[EndpointModel]:
    model = EndpointModel(endpoint(server, **settings))
    yield model
    await model.close()


@pytest.fixture(params=["fake", "endpoint", "fallback"])
async def any_model(request: pytest.FixtureRequest, server: LanguageModelServer) -> AsyncIterator[ChatModel]:
    """Each implementation, which answers what it was asked last, and is away where that is `away`."""

    def echo(asked: ChatRequest) -> str:
        if asked.messages[-1].content == "away":
            raise ModelUnavailable("away", component=LANGUAGE_MODEL)
        return asked.messages[-1].content

    server.otherwise = lambda body: body["messages"][-1]["content"].replace("away", "")
    over_http = EndpointModel(endpoint(server))
    models = {"fake": FakeChatModel(otherwise=echo), "endpoint": over_http, "fallback": FallbackModel([over_http])}
    yield models[request.param]
    await over_http.close()


class TestEveryChatModel:
    async def test_answers_what_it_is_asked(self, any_model: ChatModel) -> None:
        assert (await any_model.complete(request("1"))).text == "1"
        replies = await asyncio.gather(*(any_model.complete(request(f"號碼 {number}")) for number in range(9)))
        assert [reply.text for reply in replies] == [f"號碼 {number}" for number in range(9)]
        assert all(reply.is_whole for reply in replies)
        assert any_model.model_id

    async def test_is_unavailable_where_there_is_no_answer_and_says_no_word_of_the_request(
        self, any_model: ChatModel
    ) -> None:
        with pytest.raises(ModelUnavailable) as caught:
            await any_model.complete(request("away"))
        assert caught.value.component == LANGUAGE_MODEL
        assert KEY not in caught.value.message
        assert (await any_model.complete(request("back"))).text == "back"
        assert all(isinstance(value, int | float | str) for value in any_model.figures().values())
        await any_model.close()


async def test_it_sends_what_the_settings_say(server: LanguageModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-machine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-the-machine")
    async with opened(server) as model:
        await model.complete(request(schema=FACTS))
    async with opened(
        server, answer_format="json_object", token_limit="max_completion_tokens", temperature=None
    ) as model:
        await model.complete(request(schema=FACTS))
    async with opened(server, answer_format="text") as model:
        reply = await model.complete(request(schema=FACTS))
    first, second, third = server.requests
    assert (first["model"], first["max_tokens"], first["temperature"]) == ("tiny", 200, 0.0)
    assert first["response_format"]["json_schema"]["strict"] is True
    assert first["response_format"]["json_schema"]["schema"] == FACTS.definition
    assert (second["response_format"], second["max_completion_tokens"]) == ({"type": "json_object"}, 200)
    assert not {"temperature", "max_tokens"} & second.keys()
    assert "response_format" not in third
    assert not {"openai-organization", "openai-project"} & server.headers[0].keys()
    assert reply.prompt_tokens > 0


async def test_without_a_key_none_is_sent(other: LanguageModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-machine")
    async with opened(other) as model:
        await model.complete(request())
    assert "authorization" not in other.headers[0]


async def test_the_schemas_that_are_asked_for_are_strict_and_others_are_refused(server: LanguageModelServer) -> None:
    loose = AnswerSchema(name="loose", definition=_Loose.model_json_schema())
    async with opened(server) as model:
        for schema in (FACTS, SUMMARY):
            await model.complete(request(schema=schema))
        with pytest.raises(ModelUnavailable, match="answered 400"):
            await model.complete(request(schema=loose))
        assert (await model.complete(request())).text == "ok", "a request that is refused alone makes no pause"


async def test_a_model_is_offered_tools_asks_for_one_and_is_told_its_result(server: LanguageModelServer) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"city": "Linz"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    server.send(json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode())
    server.answer("Linz is booked.")
    tool = ToolDefinition(name="book", description="Books.", parameters={"type": "object", "properties": {}})
    async with opened(server) as model:
        asked = await model.complete(request().model_copy(update={"tools": (tool,)}))
        assert (asked.text, asked.tool_calls[0].name) == ("", "book")
        told = (
            ModelMessage(role=ChatRole.ASSISTANT, content="", tool_calls=asked.tool_calls),
            ModelMessage(role=ChatRole.TOOL, content="Booked.", tool_call_id="c1"),
        )
        reply = await model.complete(request().model_copy(update={"messages": (*request().messages, *told)}))
    assert reply.text == "Linz is booked."
    assert server.requests[0]["tools"] == [{"type": "function", "function": tool.model_dump()}]
    assert server.requests[1]["messages"][-2:] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "Booked.", "tool_call_id": "c1"},
    ]


async def test_an_answer_that_was_cut_says_so(server: LanguageModelServer) -> None:
    server.answer('{"facts": [', finish_reason="length")
    async with opened(server) as model:
        assert (await model.complete(request())).is_whole is False


Break = Callable[[LanguageModelServer], None]
FAULTS: dict[str, tuple[Break, str]] = {
    "429": (lambda server: server.fail(429, message=SECRET_TEXT), "answered 429"),
    "500": (lambda server: server.fail(500, message=SECRET_TEXT), "answered 500"),
    "503": (lambda server: server.fail(503), "answered 503"),
    "404": (lambda server: server.fail(404), "answered 404"),
    "400": (lambda server: server.fail(400, message=SECRET_TEXT), "answered 400"),
    "redirect": (lambda server: server.redirect("http://127.0.0.1:1/v1/chat/completions"), "answered 307"),
    "cut": (lambda server: server.cut(), "connection to tiny failed"),
    "garbage": (lambda server: server.send(b"\xff\x00{]"), "no chat completion"),
    "another format": (lambda server: server.send(b'{"choices": 5}'), "no chat completion"),
    "a page": (lambda server: server.send(b"<html>", content_type="text/html"), "no chat completion"),
    "no choices": (lambda server: server.send(b'{"choices": []}'), "no text"),
    "a refusal": (lambda server: server.send(b'{"choices": [{"message": {"content": null}}]}'), "no text"),
    "silence": (lambda server: server.hang(), "did not answer"),
    "a drip": (lambda server: server.drip(), "did not answer"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_named_without_the_key_and_the_text_and_the_next_endpoint_answers(
    server: LanguageModelServer, other: LanguageModelServer, fault: str
) -> None:
    breaks, message = FAULTS[fault]
    breaks(server)
    breaks(server)
    timeout_s = 0.3 if fault in ("silence", "a drip") else 5.0
    async with opened(server, timeout_s=timeout_s, rest_s=0) as first, opened(other) as second:
        with capture_logs() as logs, pytest.raises(ModelUnavailable, match=message) as caught:
            await first.complete(request())
        shown = f"{logs} {caught.value!r} {first.figures()}"
        assert SECRET_TEXT not in shown
        assert KEY not in shown
        assert [line["event"] for line in logs] == ["language_model_failed"]
        fallback = FallbackModel([first, second])
        assert (await fallback.complete(request())).text == "ok"
        assert (fallback.figures()["fallbacks"], fallback.figures()["failures"]) == (1, 2)


async def test_a_wrong_key_is_a_fault_too(server: LanguageModelServer) -> None:
    async with opened(server, api_key=SecretStr("sk-wrong-key")) as model:
        with capture_logs() as logs, pytest.raises(ModelUnavailable, match="answered 401") as caught:
            await model.complete(request())
    assert "sk-wrong-key" not in f"{logs} {caught.value!r}"


async def test_nothing_listens() -> None:
    nowhere = EndpointModel(EndpointArgs(base_url="http://127.0.0.1:1/v1", model="tiny", max_retries=0))
    with pytest.raises(ModelUnavailable, match="connection to tiny failed"):
        await nowhere.complete(request())
    await nowhere.close()


async def test_a_request_is_repeated_after_the_pause_that_the_endpoint_asks_for(server: LanguageModelServer) -> None:
    server.fail(429, retry_after="0.2")
    server.fail(500)
    loop = asyncio.get_running_loop()
    async with opened(server, max_retries=2) as model:
        begin = loop.time()
        assert (await model.complete(request())).text == "ok"
        assert loop.time() - begin >= 0.2
        assert (model.figures()["retries"], model.figures()["failures"]) == (2, 0)


async def test_an_endpoint_that_failed_rests_and_says_so(server: LanguageModelServer) -> None:
    now = 0.0
    model = EndpointModel(endpoint(server, rest_s=10), clock=lambda: now)
    server.fail(503)
    for message in ("answered 503", "is resting: tiny answered 503"):
        with pytest.raises(ModelUnavailable, match=message):
            await model.complete(request())
    assert len(server.requests) == 1
    assert (model.figures()["status"], model.figures()["error"]) == ("degraded", "tiny answered 503.")
    now = 11.0
    assert (await model.complete(request())).text == "ok"
    assert "status" not in model.figures()
    server.fail(429, retry_after="60")
    with pytest.raises(ModelUnavailable):
        await model.complete(request())
    now = 70.0
    assert model.figures()["status"] == "degraded", "Retry-After says longer than the settings"
    await model.close()


async def test_a_caller_that_has_less_time_does_not_make_the_endpoint_rest(server: LanguageModelServer) -> None:
    server.hang()
    async with opened(server, timeout_s=20) as model:
        with pytest.raises(ModelUnavailable, match=r"0\.2 s"):
            await model.complete(request(timeout_s=0.2))
        while not server.requests:
            await asyncio.sleep(0.01)
        assert (await model.complete(request())).text == "ok"


class _Slow(FakeChatModel):
    async def complete(self, request: ChatRequest) -> ChatReply:
        await asyncio.sleep(60)
        raise AssertionError


async def test_all_endpoints_together_have_the_callers_time_and_all_errors_are_told() -> None:
    slow = FallbackModel([_Slow(), FakeChatModel("late")])
    with pytest.raises(ModelUnavailable, match=r"within 0\.05 s"):
        await slow.complete(request(timeout_s=0.05))
    first, second = (FakeChatModel(ModelUnavailable(f"{name} is away.")) for name in ("one", "two"))
    both = FallbackModel([first, second])
    with pytest.raises(ModelUnavailable, match=r"one is away\. two is away\."):
        await both.complete(request())
    assert (both.figures(), slow.figures()) == (({"fallbacks": 0, "unanswered": 1},) * 2)
    await both.close()
    assert first.closed
    assert second.closed
