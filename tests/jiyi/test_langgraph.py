"""`jiyi.langgraph`: the dialogue graph in a process of its own over the HTTP API of a service (003)."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator

import pytest
import structlog
import uvicorn

from deployments.http.app import build_http
from jiyi import JiyiClient
from jiyi.langgraph import AIService, DialogueGraph, MemorySystem, memory_tool
from memory.answering.answers import AnsweredBy
from memory.dialogue.state import Route
from memory.ports.chat_models import ChatReply, ToolCall
from testing.fakes.chat_model import FakeChatModel
from tests.deployments.conftest import MOVED, open_fakes

KEY = "我家的備用鑰匙放在書房抽屜。"


@pytest.fixture
def client() -> Iterator[JiyiClient]:
    """A client of a service over fakes, at a port of this machine."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    server = uvicorn.Server(uvicorn.Config(build_http(open_fakes), port=0, log_level="error"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    with JiyiClient(f"http://{host}:{port}") as opened:
        yield opened
    server.should_exit = True
    thread.join()
    structlog.reset_defaults()


async def test_an_assistant_remembers_over_http(client: JiyiClient) -> None:
    model = FakeChatModel("好，我記得了。", "在書房抽屜。")
    service = AIService(DialogueGraph(MemorySystem(client), model=model), user_id="ann", session_id="one")
    await service.generate_response(KEY)
    later = AIService(DialogueGraph(MemorySystem(client), model=model), user_id="ann", session_id="two")
    assert await later.generate_response("備用鑰匙放在哪裡？") == "在書房抽屜。"
    assert "書房抽屜" in model.requests[1].messages[0].content
    assert [message["role"] for message in later.messages] == ["user", "assistant"]


async def test_without_a_model_the_service_is_quoted_and_quotations_are_not_learned(client: JiyiClient) -> None:
    graph = DialogueGraph(MemorySystem(client))
    await graph.generate_response(KEY, user_id="ann")
    result = await graph.generate_response("備用鑰匙放在哪裡？", user_id="ann")
    assert KEY.rstrip("。") in result.ai_response
    assert result.answered_by is AnsweredBy.EXTRACTIVE
    found = client.search("備用鑰匙", user_id="ann", kinds=["memory"])["results"]
    assert {hit["role"] for hit in found} == {"user"}


async def test_a_persona_is_given_and_learned_over_http(client: JiyiClient) -> None:
    client.set_persona(user_id="ann", name="小林", facts=["小林是台南的咖啡師。"])
    model = FakeChatModel(MOVED)
    graph = DialogueGraph(MemorySystem(client), model=model)
    await graph.generate_response("Hello there", user_id="ann")
    assert "小林是台南的咖啡師。" in model.requests[0].messages[0].content
    persona = client.persona(user_id="ann")
    assert [(trait["predicate"], trait["object"]) for trait in persona["learned"]] == [("lives_in", "Boston")]
    assert client.delete_persona(user_id="ann") == {"removed": 2}


async def test_a_request_to_forget_is_carried_out_over_http(client: JiyiClient) -> None:
    graph = DialogueGraph(MemorySystem(client), model=FakeChatModel())
    await graph.generate_response(KEY, user_id="ann")
    result = await graph.generate_response("忘掉備用鑰匙的事", user_id="ann")
    assert result.route is Route.FORGET
    assert result.stored is not None
    assert result.stored["forgot"]
    assert client.search("備用鑰匙", user_id="ann", kinds=["memory"])["results"] == []


async def test_tools_and_consolidation_work_over_http(client: JiyiClient) -> None:
    memory = MemorySystem(client)
    call = ToolCall(id="c", name="search_memory", arguments='{"query": "備用鑰匙放在哪裡？"}')
    model = FakeChatModel("好。", ChatReply(text="", tool_calls=(call,)), "在書房抽屜。")
    graph = DialogueGraph(memory, model=model, tools=[memory_tool(memory)], consolidate_every=1)
    first = await graph.generate_response(KEY, user_id="ann")
    assert first.consolidated
    await graph.generate_response("你好", user_id="ann")
    assert "書房抽屜" in model.requests[2].messages[-1].content
