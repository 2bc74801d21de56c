"""`/v1/chat/completions` over language models: what they are told, what comes back, and what happens when they fail."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from deployments.http.support.assistants import PromptBounds
from testing.language_model_server import LanguageModelServer

from .conftest import Door, open_door, upstreams_of

TOLD = "我們公司買了 AI-Box，放在三樓機房。"
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(autouse=True)
def forget_requests(model: LanguageModelServer) -> Iterator[None]:
    model.requests.clear()
    yield
    model.otherwise = lambda body: "ok"


def ask(door: Door, person: str | None, *texts: str, **options: Any) -> Any:
    messages = [{"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(texts)]
    return door.client(person).chat.completions.create(**({"model": "jiyi", "messages": messages} | options))


def test_the_model_is_told_what_memory_holds_in_one_block(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    model.answer("好的。", "在三樓機房。")
    ask(door_with_model, person, TOLD)
    door_with_model.settle(person)
    reply = ask(
        door_with_model,
        person,
        "AI-Box 放在哪裡？",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "AI-Box 放在哪裡？"}]},
        ],
        temperature=0.5,
        seed=7,
    )
    assert reply.choices[0].message.content == "在三樓機房。"
    assert reply.model == "tiny/0"
    assert [source["text"] for source in reply.model_extra["jiyi"]["sources"]] == [TOLD]
    asked = model.requests[-1]
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    told = asked["messages"][0]["content"]
    assert told.startswith("Be brief.")
    assert told.count("<memory>") == told.count("</memory>") == 1
    assert "not instructions" in told
    assert TOLD in told
    assert asked["messages"][1]["content"] == [{"type": "text", "text": "AI-Box 放在哪裡？"}]
    assert (asked["temperature"], asked["seed"]) == (0.5, 7)
    assert not {"user", "metadata", "store"} & asked.keys()
    assert door_with_model.said(person)[:2] == [("user", TOLD), ("assistant", "好的。")]


def test_a_stream_passes_pieces_on_and_ends_with_the_usage_of_the_model(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    model.answer("hello there")
    chunks = list(ask(door_with_model, person, "hi", stream=True, stream_options={"include_usage": True}))
    assert [c.choices[0].delta.content for c in chunks[:3]] == ["", "hello", " there"]
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].model_extra["jiyi"]["learned"] is True
    assert (chunks[-1].choices, chunks[-1].usage.completion_tokens) == ([], 2)


def test_tools_are_passed_through_and_the_message_is_learned_once(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    model.call_tool("look_up", '{"word": "茶"}')
    first = ask(door_with_model, person, "我喜歡什麼茶？", tools=TOOLS, tool_choice="auto")
    [call] = first.choices[0].message.tool_calls
    assert (first.choices[0].finish_reason, call.function.name) == ("tool_calls", "look_up")
    assert (call.id, call.function.arguments) == ("call_1", '{"word": "茶"}')
    assert model.requests[-1]["tools"] == TOOLS
    model.answer("烏龍茶。")
    messages = [
        {"role": "user", "content": "我喜歡什麼茶？"},
        first.choices[0].message.model_dump(exclude_unset=True),
        {"role": "tool", "tool_call_id": call.id, "content": "烏龍"},
    ]
    ask(door_with_model, person, messages=messages, tools=TOOLS)
    assert [message["role"] for message in model.requests[-1]["messages"]][-3:] == ["user", "assistant", "tool"]
    assert door_with_model.said(person) == [("user", "我喜歡什麼茶？"), ("assistant", "烏龍茶。")]


def test_without_a_person_or_for_a_title_the_model_answers_and_is_told_nothing(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    ask(door_with_model, person, TOLD)
    door_with_model.settle(person)
    ask(door_with_model, None, "AI-Box 放在哪裡？")
    title = "### Task:\nGenerate a concise, 3-5 word title summarizing the chat history: AI-Box 放在哪裡？"
    ask(door_with_model, person, title)
    for request in model.requests[-2:]:
        assert [message["role"] for message in request["messages"]] == ["user"]
    assert [text for _, text in door_with_model.said(person)] == [TOLD, "ok"]


def test_a_request_that_the_model_refuses_says_why(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    model.fail(400, message="This is too long.")
    with pytest.raises(openai.BadRequestError, match="This is too long") as caught:
        ask(door_with_model, person, "hi")
    assert caught.value.response.headers["x-should-retry"] == "false"
    assert door_with_model.said(person) == []


def test_a_conversation_that_is_too_long_is_refused_and_memory_gives_way(
    model: LanguageModelServer, person: str
) -> None:
    def bounded(memory_tokens: int) -> Any:
        bounds = PromptBounds(memory_tokens=memory_tokens, max_tokens=300)
        return open_door(change=lambda fakes: replace(fakes, upstreams=upstreams_of(model), prompt_bounds=bounds))

    with bounded(60) as door:
        ask(door, person, TOLD)
        door.settle(person)
        ask(door, person, "AI-Box 放在哪裡？")
        assert TOLD not in str(model.requests[-1]["messages"]), "the block has no room for it"
        with pytest.raises(openai.BadRequestError) as caught:
            ask(door, person, "long words " * 200)
        assert caught.value.param == "messages"


@pytest.fixture
def others() -> Iterator[tuple[LanguageModelServer, LanguageModelServer]]:
    with LanguageModelServer() as first, LanguageModelServer() as second:
        second.otherwise = lambda body: "from the second"
        yield first, second


def failing(first: LanguageModelServer, fault: str) -> None:
    match fault:
        case "error":
            first.fail(500)
        case "hang":
            first.hang()
        case "cut":
            first.cut()
        case "no chat completion":
            first.send(b"data: {nonsense\n\n", content_type="text/event-stream")


@pytest.mark.parametrize("fault", ["error", "hang", "cut", "no chat completion"])
def test_the_next_model_answers_where_one_fails_and_the_other_rests(
    others: tuple[LanguageModelServer, LanguageModelServer], person: str, fault: str
) -> None:
    first, second = others
    failing(first, fault)
    upstreams = upstreams_of(first, second, timeout_s=1.0)
    with open_door(change=lambda fakes: replace(fakes, upstreams=upstreams)) as door:
        assert ask(door, person, "hi").choices[0].message.content == "from the second"
        texts = [chunk.choices[0].delta.content for chunk in ask(door, person, "hi", stream=True)]
        assert "".join(filter(None, texts)) == "from the second"
        assert len(second.requests) == 2
        with pytest.raises(openai.InternalServerError) as caught:
            ask(door, person, "hi", model="tiny/0")
        assert caught.value.status_code == 503
        assert [model.id for model in door.client(None).models.list()][:3] == ["tiny/0", "tiny/1", "jiyi"]


@pytest.mark.parametrize("error", [None, {"message": "boom", "type": "server_error", "param": None, "code": None}])
def test_a_stream_that_breaks_ends_with_an_error_and_nothing_is_learned(
    others: tuple[LanguageModelServer, LanguageModelServer], person: str, error: dict[str, Any] | None
) -> None:
    first, second = others
    first.break_stream("half", error=error)
    upstreams = upstreams_of(first, second)
    with open_door(change=lambda fakes: replace(fakes, upstreams=upstreams)) as door:
        stream = ask(door, person, "hi", stream=True)
        assert next(stream).choices[0].delta.content == "half"
        with pytest.raises(openai.APIError, match="stopped in the middle") as caught:
            list(stream)
        assert caught.value.code == "model_unavailable"
        assert door.said(person) == []


def away(server: LanguageModelServer, fault: str) -> Any:
    """The language model of an endpoint that cannot be reached, or that fails so."""
    if fault == "no connection":
        return upstreams_of(server, base_url="http://127.0.0.1:9/v1", timeout_s=1.0)
    if fault == "nothing but the role":
        server.break_stream("")
    else:
        failing(server, fault)
    return upstreams_of(server, timeout_s=1.0)


def count_of_degraded(door: Door) -> float:
    async def read(services: Any) -> float:
        return float(services.metrics.degraded.labels("language_model")._value.get())

    return float(door.run(read))


@pytest.mark.parametrize("fault", ["no connection", "error", "hang", "cut", "nothing but the role"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_where_every_model_is_away_memory_is_quoted_and_the_message_is_learned(
    model: LanguageModelServer, person: str, fault: str, is_stream: bool
) -> None:
    with open_door(change=lambda fakes: replace(fakes, upstreams=away(model, fault))) as door:
        if is_stream:
            *_, last = ask(door, person, TOLD, stream=True)
            assert last.choices[0].finish_reason == "stop"
        else:
            last = ask(door, person, TOLD)
        used = last.model_extra["jiyi"]
        assert (used["answered_by"], used["learned"]) == ("extractive", True)
        assert used["degraded"] == ["language_model"]
        assert count_of_degraded(door) == 1
        assert door.said(person) == [("user", TOLD)]
        asked = ask(door, person, "AI-Box 放在哪裡？")
        assert "三樓機房" in asked.choices[0].message.content
        assert [source["text"] for source in asked.model_extra["jiyi"]["sources"]] == [TOLD]


def test_where_every_model_is_away_responses_are_quotations_too(model: LanguageModelServer, person: str) -> None:
    with open_door(change=lambda fakes: replace(fakes, upstreams=away(model, "error"))) as door:
        ask(door, person, TOLD)
        door.settle(person)
        reply = door.client(person).responses.create(model="jiyi", input="AI-Box 放在哪裡？")
        assert "三樓機房" in reply.output_text
        assert reply.model_extra is not None
        assert reply.model_extra["jiyi"]["degraded"] == ["language_model"]


def test_a_model_that_is_asked_for_by_its_name_does_not_give_way(model: LanguageModelServer, person: str) -> None:
    with open_door(change=lambda fakes: replace(fakes, upstreams=away(model, "error"))) as door:
        for options in ({}, {"stream": True}):
            with pytest.raises(openai.InternalServerError) as caught:
                ask(door, person, TOLD, model="tiny/0", **options)
            assert caught.value.status_code == 503
        assert door.said(person) == []


def test_where_memory_has_no_answer_either_the_error_stays(model: LanguageModelServer, person: str) -> None:
    with open_door(change=lambda fakes: replace(fakes, upstreams=away(model, "error"))) as door:
        for asking in (None, person):
            with pytest.raises(openai.InternalServerError) as caught:
                ask(door, asking, "Provide a concise, 5-word-or-less title for the conversation.")
            assert caught.value.code == "model_unavailable"
