"""`/v1/chat/completions` as the unmodified `openai` client sees it, without a language model."""

from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from .conftest import Door

TOLD = "我們公司買了 AI-Box，放在三樓機房。"
ASKED = "它放在哪裡？"


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def assistant(text: str) -> Any:
    return {"role": "assistant", "content": text}


def test_what_was_told_is_found_in_another_conversation(door: Door, person: str) -> None:
    client = door.client(person)
    told = client.chat.completions.create(model="jiyi", messages=[user(TOLD)])
    door.settle(person)
    asked = client.chat.completions.create(model="jiyi", messages=[user("AI-Box 放在哪裡？")])
    assert told.choices[0].finish_reason == asked.choices[0].finish_reason == "stop"
    assert "三樓機房" in str(asked.choices[0].message.content)
    assert asked.model == "jiyi"
    used = asked.model_extra["jiyi"] if asked.model_extra else {}
    assert [source["text"] for source in used["sources"]] == [TOLD]
    assert (used["answered_by"], used["learned"], used["degraded"]) == ("extractive", True, [])
    assert asked.usage is not None
    assert asked.usage.total_tokens == asked.usage.prompt_tokens + asked.usage.completion_tokens > 0


async def test_the_client_for_coroutines_gets_the_same(door: Door, person: str) -> None:
    client = openai.AsyncOpenAI(
        base_url=f"{door.url}/v1", api_key="any", max_retries=0, default_headers={"X-Jiyi-User": person}
    )
    async with client:
        await client.chat.completions.create(model="jiyi", messages=[user(TOLD)])
        stream = await client.chat.completions.create(model="jiyi", messages=[user("AI-Box 放在哪裡？")], stream=True)
        texts = [chunk.choices[0].delta.content async for chunk in stream]
    assert "三樓機房" in "".join(filter(None, texts))


def test_a_stream_has_pieces_then_what_memory_did_then_the_usage(door: Door, person: str) -> None:
    client = door.client(person)
    client.chat.completions.create(model="jiyi", messages=[user(TOLD)])
    messages = [user(TOLD), assistant("好的。"), user(ASKED)]
    stream = client.chat.completions.create(
        model="jiyi", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    *pieces, last, cost = list(stream)
    assert pieces[0].choices[0].delta.role == "assistant"
    assert len(pieces) > 2, "it comes in pieces"
    assert "三樓機房" in "".join(piece.choices[0].delta.content or "" for piece in pieces)
    assert {piece.choices[0].finish_reason for piece in pieces} == {None}
    assert last.choices[0].finish_reason == "stop"
    assert last.model_extra is not None
    assert last.model_extra["jiyi"]["resolved_query"] == "AI-Box 放在哪裡？"
    assert cost.choices == []
    assert cost.usage is not None
    assert cost.usage.completion_tokens > 0
    assert len({chunk.id for chunk in (*pieces, last, cost)}) == 1


def test_replies_have_the_published_shape(door: Door, person: str) -> None:
    client = door.client(person)
    whole = client.chat.completions.with_raw_response.create(model="jiyi", messages=[user(TOLD)])
    ChatCompletion.model_validate_json(whole.content)
    stream = client.post(
        "/chat/completions",
        body={"model": "jiyi", "messages": [user(TOLD)], "stream": True, "stream_options": {"include_usage": True}},
        cast_to=openai.BaseModel,
        options={"headers": {"X-Stainless-Raw-Response": "true"}},
    )
    lines = [line for line in stream.text.splitlines() if line.startswith("data: ")]  # type: ignore[attr-defined]
    assert lines[-1] == "data: [DONE]"
    for line in lines[:-1]:
        ChatCompletionChunk.model_validate_json(line.removeprefix("data: "))


def test_the_history_that_a_client_sends_is_understood_where_the_service_has_none(door: Door, person: str) -> None:
    reply = door.client(person).chat.completions.create(
        model="jiyi", messages=[user("我們買了 AI-Box。"), assistant("好的。"), user("它多少錢？")]
    )
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["resolved_query"] == "AI-Box 多少錢？"


@pytest.mark.parametrize(
    ("headers", "fields", "expected"),
    [
        ({"X-Jiyi-Session": "s1", "X-OpenWebUI-Chat-Id": "c1"}, {"metadata": {"session_id": "m1"}}, "s1"),
        ({"X-OpenWebUI-Chat-Id": "c1"}, {"metadata": {"session_id": "m1"}}, "c1"),
        ({"x-sm-conversation-id": "c2"}, {}, "c2"),
        ({}, {"metadata": {"chat_id": "m3", "thread_id": "m2", "session_id": "m1"}}, "m1"),
        ({}, {"metadata": {"chat_id": "m3", "thread_id": "m2"}}, "m2"),
        ({}, {"metadata": {"chat_id": "m3"}}, "m3"),
    ],
)
def test_the_session_is_the_first_that_is_named(
    door: Door, person: str, headers: dict[str, str], fields: dict[str, Any], expected: str
) -> None:
    reply = door.client(person).chat.completions.create(
        model="jiyi", messages=[user(TOLD)], extra_headers=headers, extra_body=fields
    )
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["session_id"] == expected


@pytest.mark.parametrize(
    ("headers", "fields", "expected"),
    [
        ({"X-Jiyi-User": "a"}, {"user": "b", "safety_identifier": "c"}, "a"),
        ({}, {"user": "b", "safety_identifier": "c"}, "b"),
        ({}, {"safety_identifier": "c", "prompt_cache_key": "d"}, "c"),
    ],
)
def test_the_person_is_the_first_that_is_named(
    door: Door, person: str, headers: dict[str, str], fields: dict[str, Any], expected: str
) -> None:
    door.client(None).chat.completions.create(
        model="jiyi",
        messages=[user(TOLD)],
        extra_headers={name: f"{person}-{value}" for name, value in headers.items()},
        extra_body={name: f"{person}-{value}" for name, value in fields.items()},
    )
    assert [name for name in "abcd" if door.said(f"{person}-{name}")] == [expected]


def test_without_a_person_it_answers_and_learns_nothing(door: Door) -> None:
    async def count(services: Any) -> int:
        return int((await services.record.backlog.counts())["resources"])

    before = door.run(count)
    reply = door.client(None).chat.completions.create(
        model="jiyi", messages=[user(TOLD)], extra_body={"prompt_cache_key": "bucket"}
    )
    assert reply.choices[0].message.content == "這段對話沒有說明是誰說的，所以我沒有查記憶，也不會記下來。"
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["learned"] is False
    assert door.run(count) == before


def test_a_repeated_request_is_learned_once(door: Door, person: str) -> None:
    for _ in range(3):
        door.client(person).chat.completions.create(model="jiyi", messages=[user(TOLD)])
    assert door.said(person) == [("user", TOLD)]


@pytest.mark.parametrize(
    "text",
    [
        "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Chat History:\n"
        "<chat_history>\nUSER: I bought a kayak.\n</chat_history>",
        "### Task:\nSuggest 3-5 relevant follow-up questions that the user might naturally ask next.",
        "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.",
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.",
        "使用四到五個字直接返回這句話的簡要主題，不要解釋",
        "你是一名擅長會話的助理，你需要將用戶的會話總結為 10 個字以內的標題",
    ],
)
def test_what_chat_programs_ask_for_themselves_is_not_learned(door: Door, person: str, text: str) -> None:
    door.client(person).chat.completions.create(model="jiyi", messages=[user("I bought a kayak."), user(text)])
    door.client(person).chat.completions.create(
        model="jiyi", messages=[user("I sold a boat.")], extra_headers={"X-Jiyi-Learn": "false"}
    )
    assert door.said(person) == []


@pytest.mark.parametrize(
    "text", ["Suggest a title for my novel.", "我的標題是經理。", "What is the topic of my talk?", "總結一下我的旅行"]
)
def test_what_a_person_asks_about_titles_is_learned(door: Door, person: str, text: str) -> None:
    door.client(person).chat.completions.create(model="jiyi", messages=[user(text)])
    assert ("user", text) in door.said(person)


def test_a_request_to_forget_is_carried_out(door: Door, person: str) -> None:
    client = door.client(person)
    client.chat.completions.create(model="jiyi", messages=[user("The spare key is in the blue drawer.")])
    door.settle(person)
    reply = client.chat.completions.create(model="jiyi", messages=[user("Forget where the spare key is.")])
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["learned"] is False
    assert door.said(person) == []
