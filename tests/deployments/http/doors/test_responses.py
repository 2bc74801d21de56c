"""`/v1/responses` and `/v1/conversations` through OpenAI's client, and their published shapes."""

from typing import Any

import openai
import pytest
from openai.types.conversations import Conversation, ConversationItemList
from openai.types.responses import Response
from openresponses_types import ResponseResource

from testing.language_model_server import LanguageModelServer

from .conftest import Door

TOLD = "我們公司買了 AI-Box，放在三樓機房。"
TOOL: Any = {"type": "function", "name": "look_up", "parameters": {"type": "object", "properties": {}}, "strict": False}


def check_shape(response: dict[str, Any]) -> None:
    """Holds a response to what OpenAI and Open Responses publish."""
    Response.model_validate(response)
    ResponseResource.model_validate(response)


def test_a_response_continues_the_one_before(door_with_model: Door, model: LanguageModelServer, person: str) -> None:
    client = door_with_model.client(person)
    model.answer("好的。", "在三樓機房。")
    told = client.responses.create(model="jiyi", input=TOLD, instructions="Be brief.")
    raw = client.responses.with_raw_response.create(
        model="jiyi", input="它放在哪裡？", previous_response_id=told.id, metadata={"a": "b"}
    )
    asked = raw.parse()
    assert (told.output_text, asked.output_text) == ("好的。", "在三樓機房。")
    assert (told.status, asked.status, asked.previous_response_id) == ("completed", "completed", told.id)
    assert asked.usage is not None
    assert asked.usage.total_tokens == asked.usage.input_tokens + asked.usage.output_tokens
    assert asked.model_extra is not None
    assert asked.model_extra["jiyi"]["resolved_query"] == "AI-Box 放在哪裡？"
    assert [message["content"] for message in model.requests[-1]["messages"][1:]] == [TOLD, "好的。", "它放在哪裡？"]
    check_shape(raw.http_response.json())
    assert client.responses.retrieve(asked.id).output_text == "在三樓機房。"
    [item] = client.responses.input_items.list(asked.id)
    assert item.content[0].text == "它放在哪裡？"  # type: ignore[union-attr, index]
    client.responses.delete(asked.id)
    with pytest.raises(openai.NotFoundError) as caught:
        client.responses.retrieve(asked.id)
    assert caught.value.code == "response_not_found"
    with pytest.raises(openai.NotFoundError):
        door_with_model.client(f"{person}-other").responses.retrieve(told.id)


def test_an_item_stands_for_what_a_response_has(door_with_model: Door, model: LanguageModelServer, person: str) -> None:
    client = door_with_model.client(person)
    model.answer("在三樓。", "好。", "好。", "好。")
    first = client.responses.create(model="jiyi", input="AI-Box 在哪裡？")
    [asked] = client.responses.input_items.list(first.id).data
    references: Any = [{"type": "item_reference", "id": id_} for id_ in (asked.id, first.output[0].id)]
    question: Any = {"role": "user", "content": "幾樓？"}
    texts = ["AI-Box 在哪裡？", "在三樓。", "幾樓？"]
    second = client.responses.create(model="jiyi", input=[*references, question])
    assert [said["content"] for said in model.requests[-1]["messages"] if said["role"] != "system"] == texts
    third = client.responses.create(model="jiyi", input=[references[1], question], previous_response_id=second.id)
    said = [each["content"] for each in model.requests[-1]["messages"] if each["role"] != "system"]
    assert said == [*texts, "好。", "幾樓？"], "what is continued is not said twice"
    with pytest.raises(openai.NotFoundError):
        door_with_model.client("somebody else").responses.create(model="jiyi", input=[*references, question])
    for later in (third, second):
        client.responses.delete(later.id)
    client.responses.create(model="jiyi", input=[*references, question])
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="jiyi", input=[*references, question])


def test_the_helper_for_streams_gets_every_event(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    model.answer("hello there")
    with door_with_model.client(person).responses.stream(model="jiyi", input="hi") as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(10))
    assert final.output_text == "hello there"
    model.call_tool("look_up", '{"word": 1}')
    with door_with_model.client(person).responses.stream(model="jiyi", input="look it up", tools=[TOOL]) as stream:
        kinds = [event.type for event in stream]
        [call] = stream.get_final_response().output
    assert kinds.count("response.function_call_arguments.delta") == 2
    assert call.type == "function_call"
    assert (call.name, call.arguments, call.call_id) == ("look_up", '{"word": 1}', "call_1")


def test_a_stream_that_breaks_ends_with_a_failed_response(
    door_with_model: Door, model: LanguageModelServer, person: str
) -> None:
    model.break_stream("half", error={"message": "boom", "type": "server_error", "param": None, "code": None})
    *_, last = door_with_model.client(person).responses.create(model="tiny/0", input="hi", stream=True)
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.code == "server_error"
    assert door_with_model.said(person) == []


def test_a_conversation_gets_the_items_of_its_responses(door: Door, person: str) -> None:
    client = door.client(person)
    conversation = client.conversations.create(metadata={"topic": "a"})
    for text in (TOLD, "它放在哪裡？"):
        reply = client.responses.create(model="jiyi", input=text, conversation=conversation.id)
    assert "三樓機房" in reply.output_text
    assert reply.conversation is not None
    assert reply.conversation.id == conversation.id
    assert reply.model_extra is not None
    assert reply.model_extra["jiyi"]["session_id"] == conversation.id
    items = list(client.conversations.items.list(conversation.id, order="asc", limit=3))
    assert [item.role for item in items] == ["user", "assistant", "user", "assistant"]  # type: ignore[union-attr]
    check_shape(client.responses.with_raw_response.retrieve(reply.id).http_response.json())


def test_conversations_and_their_items(door: Door, person: str) -> None:
    client = door.client(person)
    given: Any = [{"type": "message", "role": "user", "content": f"text {number}"} for number in range(3)]
    conversation = client.conversations.create(items=given, metadata={"topic": "a"})
    Conversation.model_validate(conversation.model_dump())
    assert client.conversations.retrieve(conversation.id).metadata == {"topic": "a"}
    assert client.conversations.update(conversation.id, metadata={"topic": "b"}).metadata == {"topic": "b"}
    raw = client.conversations.items.with_raw_response.list(conversation.id, limit=2)
    page = raw.http_response.json()
    ConversationItemList.model_validate(page)
    assert [item["content"][0]["text"] for item in page["data"]] == ["text 2", "text 1"]
    assert page["has_more"] is True
    [last] = client.conversations.items.list(conversation.id, limit=2, after=page["last_id"]).data
    assert client.conversations.items.retrieve(last.id or "", conversation_id=conversation.id).id == last.id
    added = client.conversations.items.create(conversation.id, items=[given[0]])
    assert added.data[0].id
    client.conversations.items.delete(last.id or "", conversation_id=conversation.id)
    assert len(list(client.conversations.items.list(conversation.id))) == 3
    with pytest.raises(openai.NotFoundError) as caught:
        client.conversations.items.retrieve(last.id or "", conversation_id=conversation.id)
    assert caught.value.code == "conversation_not_found"
    with pytest.raises(openai.NotFoundError):
        door.client(f"{person}-other").conversations.retrieve(conversation.id)
    assert client.conversations.delete(conversation.id).deleted is True
    with pytest.raises(openai.NotFoundError):
        client.conversations.items.list(conversation.id)


def test_a_conversation_takes_over_what_a_response_has(door: Door, person: str) -> None:
    client = door.client(person)
    told = client.responses.create(model="jiyi", input=TOLD)
    reference: Any = {"type": "item_reference", "id": told.output[0].id}
    after: Any = {"role": "user", "content": "and then?"}
    conversation = client.conversations.create(items=[after])
    [copied, later] = client.conversations.items.create(conversation.id, items=[reference, after]).data
    assert copied.content[0].text == told.output_text  # type: ignore[union-attr, index]
    ids = [item.id for item in client.conversations.items.list(conversation.id, order="asc")]
    assert ids[1:] == [copied.id, later.id], "behind what was there"
    begun = client.conversations.create(items=[reference])
    assert len(client.conversations.items.list(begun.id).data) == 1
    others = door.client(f"{person}-other")
    with pytest.raises(openai.NotFoundError):
        others.conversations.items.create(others.conversations.create().id, items=[reference])
    missing: Any = {"type": "item_reference", "id": "msg_0"}
    with pytest.raises(openai.NotFoundError) as caught:
        client.conversations.items.create(conversation.id, items=[after, missing])
    assert caught.value.code == "response_not_found"
    nameless: Any = {"type": "item_reference"}
    with pytest.raises(openai.BadRequestError):
        client.conversations.items.create(conversation.id, items=[nameless])
    assert len(list(client.conversations.items.list(conversation.id))) == 3, "what is refused adds nothing"


def test_nobody_has_responses_or_conversations(door: Door) -> None:
    client = door.client(None)
    reply = client.responses.create(model="jiyi", input="hi", store=True)
    assert reply.model_extra is not None
    assert reply.model_extra["store"] is False
    for call in (client.conversations.create, lambda: client.responses.retrieve(reply.id)):
        with pytest.raises(openai.BadRequestError) as caught:
            call()
        assert caught.value.param == "X-Jiyi-User"


@pytest.mark.parametrize(
    ("param", "request_"),
    [
        ("input", {"input": []}),
        ("input", {"input": [{"type": "computer_call"}]}),
        ("input", {"input": [{"type": "item_reference"}]}),
        ("tools.0.type", {"input": "hi", "tools": [{"type": "web_search"}]}),
        ("previous_response_id", {"input": "hi", "previous_response_id": "r", "conversation": "c"}),
    ],
)
def test_what_cannot_be_answered_is_named(door: Door, person: str, param: str, request_: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        door.client(person).responses.create(**({"model": "jiyi"} | request_))
    assert caught.value.param == param
