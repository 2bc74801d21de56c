"""Models to talk to, with a real one: llama.cpp's own server and a small model, which nobody here wrote."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from deployments.config.language_model_settings import EndpointArgs
from deployments.remote.chat_upstream import ChatUpstream, ChatUpstreams
from deployments.remote.language_model import EndpointModel
from memory.ports.models.chat_models import ChatRequest, ChatRole, ModelMessage
from memory.prompting.facts import SCHEMA as FACTS
from memory.prompting.summaries import SCHEMA as SUMMARY
from memory.values.predicates import PREDICATES
from testing.local_model import LocalModel

from .conftest import Door, open_door

TOLD = "My locker number is 4711."
ASKED = "What is my locker number?"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[EndpointArgs]:
    with LocalModel() as model:
        yield EndpointArgs(base_url=model.url, model=model.name, timeout_s=120)


@pytest.fixture(scope="module")
def door_with_local_model(endpoint: EndpointArgs) -> Iterator[Door]:
    with open_door(change=lambda fakes: replace(fakes, upstreams=ChatUpstreams([ChatUpstream(endpoint)]))) as opened:
        yield opened


def ask(door: Door, person: str | None, text: str, **options: Any) -> Any:
    messages: Any = [{"role": "user", "content": text}]
    completions = door.client(person, timeout=120).chat.completions
    return completions.create(model="jiyi", messages=messages, max_tokens=24, temperature=0, **options)


def test_it_says_what_memory_tells_it_and_to_nobody_else(door_with_local_model: Door, person: str) -> None:
    ask(door_with_local_model, person, TOLD)
    door_with_local_model.settle(person)
    reply = ask(door_with_local_model, person, ASKED)
    assert "4711" in reply.choices[0].message.content
    assert TOLD in [source["text"] for source in reply.model_extra["jiyi"]["sources"]]
    assert "4711" not in ask(door_with_local_model, None, ASKED).choices[0].message.content


def test_a_stream_says_the_same_piece_by_piece_and_counts_its_tokens(door_with_local_model: Door) -> None:
    whole = ask(door_with_local_model, None, "Count from one to five.")
    chunks = list(
        ask(door_with_local_model, None, "Count from one to five.", stream=True, stream_options={"include_usage": True})
    )
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(filter(None, pieces)) == whole.choices[0].message.content
    assert len([piece for piece in pieces if piece]) > 1
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens > 1


async def test_it_keeps_to_our_strict_schemas(endpoint: EndpointArgs) -> None:
    model = EndpointModel(endpoint)
    message = ModelMessage(role=ChatRole.USER, content="I live in Leeds.")
    facts = await model.complete(ChatRequest(messages=(message,), answer_schema=FACTS, max_tokens=100))
    summary = await model.complete(ChatRequest(messages=(message,), answer_schema=SUMMARY, max_tokens=200))
    await model.close()
    predicate = re.search(r'"predicate"\s*:\s*"(\w+)"', facts.text)
    assert predicate is not None
    assert predicate[1] in PREDICATES
    assert summary.is_whole
    assert set(json.loads(summary.text)) == {"summary"}
