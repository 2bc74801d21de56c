"""`jiyi-dialogue` on `/v1/chat/completions`: the dialogue graph of document 003 by a model's name."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from deployments.http.support.services import Services
from memory.dialogue.checkpoints import RecordSaver
from memory.dialogue.graph import DialogueGraph
from testing.fakes.chat_model import FakeChatModel
from tests.deployments.serving import serving

KEY = "我家的備用鑰匙放在書房抽屜。"


@pytest.fixture
def model() -> FakeChatModel:
    return FakeChatModel(otherwise=lambda _: "在書房抽屜。")


@pytest.fixture
async def door(services: Services, model: FakeChatModel) -> AsyncIterator[httpx.AsyncClient]:
    def make(memory: Any, record: Any) -> DialogueGraph:
        return DialogueGraph(memory, model=model, checkpointer=RecordSaver(record))

    async with serving(replace(services, make_dialogue=make)) as client:
        yield client


def body(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "jiyi-dialogue", "messages": [{"role": "user", "content": text}], "user": "ann"} | fields


async def ask(door: httpx.AsyncClient, text: str, **fields: Any) -> Any:
    reply = await door.post("/v1/chat/completions", json=body(text, **fields))
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_it_remembers_and_speaks_as_the_persona(door: httpx.AsyncClient, model: FakeChatModel) -> None:
    await door.put("/persona", json={"user_id": "ann", "name": "小林", "facts": ["小林是台南的咖啡師。"]})
    first = await ask(door, KEY)
    assert first["jiyi"]["learned"]
    second = await ask(door, "備用鑰匙放在哪裡？", character_state={"mood": "sleepy"})
    assert second["choices"][0]["message"]["content"] == "在書房抽屜。"
    assert second["jiyi"]["answered_by"] == "language_model"
    prompt = model.requests[-1].messages[0].content
    assert "書房抽屜" in prompt
    assert "小林是台南的咖啡師。" in prompt
    assert "mood: sleepy" in prompt


async def test_it_is_one_of_the_models_and_streams(door: httpx.AsyncClient) -> None:
    assert "jiyi-dialogue" in [model["id"] for model in (await door.get("/v1/models")).json()["data"]]
    reply = await door.post("/v1/chat/completions", json=body("你好", stream=True))
    assert reply.text.rstrip().endswith("data: [DONE]")


async def test_nobody_is_answered_and_nothing_is_learned(door: httpx.AsyncClient, services: Services) -> None:
    reply = await door.post("/v1/chat/completions", json={k: v for k, v in body(KEY).items() if k != "user"})
    assert reply.json()["choices"][0]["message"]["content"]
    assert not reply.json()["jiyi"]["learned"]
    assert (await services.record.backlog.counts())["resources"] == 0


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"persona_ids": ["a.b"]}, "persona_ids.0"),
        ({"character_state": {"mood": {}}}, "character_state.mood"),
    ],
)
async def test_what_it_cannot_do_is_refused_by_name(
    door: httpx.AsyncClient, fields: dict[str, Any], param: str
) -> None:
    reply = await door.post("/v1/chat/completions", json=body("你好", **fields))
    assert reply.status_code == 400
    assert reply.json()["error"]["param"].startswith(param)
