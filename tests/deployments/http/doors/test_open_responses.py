"""The seven cases of Open Responses' compliance suite, whose published schema every response and event must keep to."""

import json
from typing import Any, Union

import httpx
import openresponses_types
import pytest
from openresponses_types import ResponseResource
from pydantic import TypeAdapter

from testing.language_model_server import LanguageModelServer

from .conftest import Door

IMAGE = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a place.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


def said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


ASKED = [said("user", "Is it raining in Keelung?")]
SEEN = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": IMAGE}]
CASES: dict[str, dict[str, Any]] = {
    "basic-response": {"input": [said("user", "Say hello.")]},
    "streaming-response": {"input": [said("user", "Count to three.")], "stream": True},
    "system-prompt": {"input": [said("system", "Talk like a sailor."), said("user", "Say hello.")]},
    "tool-calling": {"input": ASKED, "tools": [WEATHER]},
    "tool-calling-streaming": {"input": ASKED, "tools": [WEATHER], "stream": True},
    "image-input": {"input": [said("user", SEEN)]},
    "multi-turn": {
        "input": [said("user", "I am Ida."), said("assistant", "Hello Ida."), said("user", "What is my name?")]
    },
}
EVENTS: TypeAdapter[Any] = TypeAdapter(  # of a tuple, which `|` cannot join
    Union[tuple(event for name, event in vars(openresponses_types).items() if name.endswith("StreamingEvent"))]  # type: ignore[arg-type]  # noqa: UP007
)
"""Any event; each has its own kind."""


@pytest.mark.parametrize("case", CASES)
def test_a_response_and_its_events_keep_to_the_published_schema(
    door_with_model: Door, model: LanguageModelServer, person: str, case: str
) -> None:
    if calls := case.startswith("tool-calling"):
        model.call_tool("get_weather", '{"place": "Keelung"}')
    else:
        model.answer("Hello there.")
    body = {"model": "jiyi", **CASES[case]}
    reply = httpx.post(f"{door_with_model.url}/v1/responses", json=body, headers={"X-Jiyi-User": person})
    assert reply.status_code == 200, reply.text
    if "stream" not in body:
        check_response(reply.json(), "function_call" if calls else "message")
        return
    events = [json.loads(line[len("data: ") :]) for line in reply.text.splitlines() if line.startswith("data: {")]
    for event in events:
        EVENTS.validate_python(event)
    kinds = {event["type"] for event in events}
    assert not calls or kinds >= {f"response.function_call_arguments.{end}" for end in ("delta", "done")}
    check_response(events[-1]["response"], "function_call" if calls else "message")


def check_response(sent: dict[str, Any], kind: str) -> None:
    response = ResponseResource.model_validate(sent)
    assert response.status == "completed"
    assert [item.type for item in response.output] == [kind]
