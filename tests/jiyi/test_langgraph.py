"""`jiyi.langgraph`: the dialogue graph in a process of its own over the HTTP API of a service (003)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from deployments.http.support.services import Services
from jiyi import AsyncClient
from jiyi.langgraph import AIService, DialogueGraph, MemorySystem, memory_tool
from memory.answering.answers import AnsweredBy
from memory.dialogue.state import Route
from memory.ports.models.chat_models import ChatReply, ToolCall
from memory.values.understanding.dialogue import Role
from testing.fakes.chat_model import FakeChatModel
from testing.fakes.reader import stated
from tests.deployments.conftest import MOVED, open_fakes
from tests.deployments.serving import running_app

TOLD = "你住在台南。"
KEY = "我家的備用鑰匙放在書房抽屜。"


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    """A client of a service over fakes."""
    async with open_fakes() as services, client_over(services) as opened:
        yield opened


@asynccontextmanager
async def client_over(services: Services) -> AsyncIterator[AsyncClient]:
    """A client of a service over these parts."""
    async with (
        running_app(services) as app,
        AsyncClient("http://localhost", transport=httpx.ASGITransport(app)) as opened,
    ):
        yield opened


async def test_an_assistant_remembers_over_http(client: AsyncClient) -> None:
    model = FakeChatModel("好，我記得了。", "在書房抽屜。")
    service = AIService(DialogueGraph(MemorySystem(client), model=model), user_id="ann", session_id="one")
    await service.generate_response(KEY)
    later = AIService(DialogueGraph(MemorySystem(client), model=model), user_id="ann", session_id="two")
    assert await later.generate_response("備用鑰匙放在哪裡？") == "在書房抽屜。"
    assert "書房抽屜" in model.requests[1].messages[0].content
    assert [message["role"] for message in later.messages] == ["user", "assistant"]


async def test_without_a_model_the_service_is_quoted_and_quotations_are_not_learned(client: AsyncClient) -> None:
    graph = DialogueGraph(MemorySystem(client))
    await graph.generate_response(KEY, user_id="ann")
    result = await graph.generate_response("備用鑰匙放在哪裡？", user_id="ann")
    assert KEY.rstrip("。") in result.ai_response
    assert result.answered_by is AnsweredBy.EXTRACTIVE
    found = (await client.search("備用鑰匙", user_id="ann", kinds=["memory"])).results
    assert {hit.role for hit in found} == {Role.USER}


async def test_a_persona_is_given_and_learned_over_http(client: AsyncClient) -> None:
    await client.personas.put(user_id="ann", name="小林", facts=["小林是台南的咖啡師。"])
    model = FakeChatModel(MOVED)
    graph = DialogueGraph(MemorySystem(client), model=model)
    await graph.generate_response("Hello there", user_id="ann")
    assert "小林是台南的咖啡師。" in model.requests[0].messages[0].content
    persona = await client.personas.get(user_id="ann")
    assert [(trait.predicate, trait.object) for trait in persona.learned] == [("lives_in", "Boston")]
    assert (await client.personas.delete(user_id="ann")).removed == 2


@pytest.mark.parametrize("model", [None, FakeChatModel("好。")], ids=["quoted", "written"])
async def test_what_the_user_tells_the_assistant_about_itself_is_learned_over_http(
    model: FakeChatModel | None,
) -> None:
    async with open_fakes() as services, client_over(services) as client:
        services.extractor._extractor._reader.scripted[TOLD] = stated(TOLD, "user | lives_in | 台南")  # type: ignore[attr-defined]
        await DialogueGraph(MemorySystem(client), model=model).generate_response(TOLD, user_id="ann")
        persona = await client.personas.get(user_id="ann")
    assert [(trait.predicate, trait.object) for trait in persona.learned] == [("lives_in", "台南")]


async def test_without_a_model_a_quotation_teaches_nothing_about_the_persona(client: AsyncClient) -> None:
    graph = DialogueGraph(MemorySystem(client))
    for text in (MOVED, "Where did I move to?"):
        await graph.generate_response(text, user_id="ann")
    assert (await client.personas.get(user_id="ann")).learned == ()


async def test_a_request_to_forget_is_carried_out_over_http(client: AsyncClient) -> None:
    graph = DialogueGraph(MemorySystem(client), model=FakeChatModel())
    await graph.generate_response(KEY, user_id="ann")
    result = await graph.generate_response("忘掉備用鑰匙的事", user_id="ann")
    assert result.route is Route.FORGET
    assert result.stored is not None
    assert result.stored["forgot"]
    assert (await client.search("備用鑰匙", user_id="ann", kinds=["memory"])).results == ()


async def test_tools_and_consolidation_work_over_http(client: AsyncClient) -> None:
    memory = MemorySystem(client)
    call = ToolCall(id="c", name="search_memory", arguments='{"query": "備用鑰匙放在哪裡？"}')
    model = FakeChatModel("好。", ChatReply(text="", tool_calls=(call,)), "在書房抽屜。")
    graph = DialogueGraph(memory, model=model, tools=[memory_tool(memory)], consolidate_every=1)
    first = await graph.generate_response(KEY, user_id="ann")
    assert first.consolidated
    await graph.generate_response("你好", user_id="ann")
    assert "書房抽屜" in model.requests[2].messages[-1].content
