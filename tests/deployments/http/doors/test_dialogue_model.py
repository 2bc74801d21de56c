"""`jiyi-dialogue` on `/v1/chat/completions`: the dialogue graph of document 003 by a model's name."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from deployments.http.support.services import Services
from memory.dialogue.checkpoints import RecordSaver
from memory.dialogue.graph import DialogueGraph
from memory.dialogue.memory_system import MemorySystem
from memory.ports.stores.record import SystemOfRecord
from testing.fakes.chat_model import FakeChatModel
from testing.fakes.reader import stated
from testing.language_model_server import LanguageModelServer
from tests.deployments.serving import serving

from .conftest import Door, open_door, upstreams_of

KEY = "我家的備用鑰匙放在書房抽屜。"
BOUGHT = "我們公司買了 AI-Box，放在三樓機房。"
BOOK = "幫我訂琳茲的旅館。"


@pytest.fixture
def model() -> FakeChatModel:
    return FakeChatModel(otherwise=lambda _: "在書房抽屜。")


def making(model: FakeChatModel) -> Callable[[MemorySystem, SystemOfRecord], DialogueGraph]:
    """Makes a graph with this model, as the service does."""
    return lambda memory, record: DialogueGraph(memory, model=model, checkpointer=RecordSaver(record))


def door_over(services: Services, model: FakeChatModel) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    return serving(replace(services, make_dialogue=making(model)))


@pytest.fixture
async def door(services: Services, model: FakeChatModel) -> AsyncIterator[httpx.AsyncClient]:
    async with door_over(services, model) as client:
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


async def test_it_says_what_memory_did_as_the_model_jiyi_does(door: httpx.AsyncClient) -> None:
    await ask(door, BOUGHT, metadata={"session_id": "one"})
    used = [
        (await ask(door, "它放在哪裡？", model=name, metadata={"session_id": "one"}))["jiyi"]
        for name in ("jiyi", "jiyi-dialogue")
    ]
    assert used[0]["resolved_query"] == used[1]["resolved_query"] == "AI-Box 放在哪裡？"
    assert [source["text"] for source in used[1]["sources"]] == [source["text"] for source in used[0]["sources"]]
    assert [source["text"] for source in used[1]["sources"]] == [BOUGHT]


async def test_while_the_model_is_away_the_sources_are_what_is_quoted(services: Services) -> None:
    async with door_over(services, FakeChatModel()) as door:
        await ask(door, KEY)
        reply = await ask(door, "備用鑰匙放在哪裡？")
    assert (reply["jiyi"]["answered_by"], reply["jiyi"]["degraded"]) == ("extractive", ["language_model"])
    assert [source["text"] for source in reply["jiyi"]["sources"]] == [KEY]


class TestTasks:
    """What the user waits for, from request to request."""

    @pytest.fixture(autouse=True)
    def requests_are_read(self, services: Services) -> None:
        services.extractor._extractor._reader.scripted[BOOK] = stated(BOOK, intents="request")  # type: ignore[attr-defined]

    async def test_a_task_is_kept_in_its_session_until_it_is_thanked_for(
        self, door: httpx.AsyncClient, model: FakeChatModel
    ) -> None:
        async def task_told(text: str, session_id: str, user: str = "ann") -> bool:
            await ask(door, text, metadata={"session_id": session_id}, user=user)
            return BOOK in model.requests[-1].messages[0].content.partition("# Current task")[2]

        assert await task_told(BOOK, "one")
        assert await task_told("今天天氣很好", "one")
        assert not await task_told("今天天氣很好", "other")
        assert not await task_told("今天天氣很好", "one", user="bob")
        await task_told("謝謝你", "one")
        assert not await task_told("今天天氣很好", "one")

    async def test_a_conversation_without_an_id_begins_without_the_tasks_of_one_that_began_so_too(
        self, door: httpx.AsyncClient, model: FakeChatModel
    ) -> None:
        async def task_told(messages: list[dict[str, str]], said: str) -> bool:
            messages.append({"role": "user", "content": said})
            reply = await ask(door, "", messages=messages)
            messages.append({"role": "assistant", "content": reply["choices"][0]["message"]["content"]})
            return BOOK in model.requests[-1].messages[0].content

        chat: list[dict[str, str]] = []
        assert [await task_told(chat, said) for said in ("你好", BOOK, "今天天氣很好")] == [False, True, True]
        assert not await task_told([], "你好")

    async def test_it_is_erased_with_its_session(self, door: httpx.AsyncClient, model: FakeChatModel) -> None:
        one = {"metadata": {"session_id": "one"}}
        await ask(door, BOOK, **one)
        erasure = {"user_id": "ann", "kind": "session", "session_id": "one", "wait": True}
        assert (await door.post("/erasures", json=erasure)).is_success
        await ask(door, "今天天氣很好", **one)
        assert BOOK not in model.requests[-1].messages[0].content

    async def test_of_what_is_not_to_be_learned_no_task_is_kept(
        self, door: httpx.AsyncClient, model: FakeChatModel
    ) -> None:
        one = {"metadata": {"session_id": "one"}}
        await door.post("/v1/chat/completions", json=body(BOOK, **one), headers={"X-Jiyi-Learn": "false"})
        await ask(door, "今天天氣很好", **one)
        assert BOOK not in model.requests[-1].messages[0].content


class TestWhatChatProgramsAskForThemselves:
    TITLE = "Provide a concise, 5-word-or-less title for the conversation about the 備用鑰匙."

    async def test_nothing_is_looked_up_or_learned(
        self, door: httpx.AsyncClient, model: FakeChatModel, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await ask(door, KEY)
        asked, before = len(model.requests), await services.record.backlog.counts()

        async def looked_up(*_: object, **__: object) -> None:
            raise AssertionError("looked up")

        monkeypatch.setattr(services.retriever, "search", looked_up)
        reply = await ask(door, self.TITLE)
        assert reply["choices"][0]["message"]["content"]
        assert (reply["jiyi"]["sources"], reply["jiyi"]["learned"]) == ([], False)
        assert (len(model.requests), await services.record.backlog.counts()) == (asked, before)

    async def test_the_language_model_writes_them_without_memory_or_persona(self, services: Services) -> None:
        with LanguageModelServer() as server:
            server.answer("Keys")
            upstreams = upstreams_of(server)
            async with door_over(replace(services, upstreams=upstreams), FakeChatModel()) as door:
                reply = await ask(door, self.TITLE, persona_ids=["fu"], temperature=0.5)
            await upstreams.close()
        assert reply["choices"][0]["message"]["content"] == "Keys"
        [asked] = server.requests
        assert asked["messages"] == [{"role": "user", "content": self.TITLE}]
        assert asked["temperature"] == 0.5
        assert "persona_ids" not in asked


@pytest.fixture(scope="module")
def running() -> Iterator[Door]:
    """A service at a port, for the client of OpenAI."""
    model = FakeChatModel(otherwise=lambda _: "在書房抽屜。")
    with open_door(change=lambda services: replace(services, make_dialogue=making(model))) as opened:
        yield opened


class TestOpenAIClient:
    def test_a_whole_reply(self, running: Door, person: str) -> None:
        client = running.client(person)
        client.chat.completions.create(model="jiyi-dialogue", messages=[{"role": "user", "content": KEY}])
        reply = client.chat.completions.create(
            model="jiyi-dialogue",
            messages=[{"role": "user", "content": "備用鑰匙放在哪裡？"}],
            extra_body={"character_state": {"mood": "sleepy"}},
        )
        assert reply.choices[0].message.content == "在書房抽屜。"
        assert reply.model == "jiyi-dialogue"
        assert reply.model_extra is not None
        assert [source["text"] for source in reply.model_extra["jiyi"]["sources"]] == [KEY]
        assert ("user", KEY) in running.said(person)

    async def test_a_stream(self, running: Door, person: str) -> None:
        async with openai.AsyncOpenAI(
            base_url=f"{running.url}/v1", api_key="any", max_retries=0, default_headers={"X-Jiyi-User": person}
        ) as client:
            stream = await client.chat.completions.create(
                model="jiyi-dialogue",
                messages=[{"role": "user", "content": KEY}],
                stream=True,
                stream_options={"include_usage": True},
            )
            *pieces, last, cost = [chunk async for chunk in stream]
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == "在書房抽屜。"
        assert last.choices[0].finish_reason == "stop"
        assert last.model_extra is not None
        assert (last.model_extra["jiyi"]["learned"], last.model_extra["jiyi"]["resolved_query"]) == (True, KEY)
        assert cost.usage is not None


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
