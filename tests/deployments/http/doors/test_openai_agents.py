"""An agent of the unmodified `openai-agents`, whose session is a conversation of the service."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, RunConfig, Runner, function_tool

from testing.language_model_server import LanguageModelServer

from .conftest import Door


@function_tool
def find_room(number: int) -> str:
    """Finds a room."""
    return f"Room {number} is on the third floor."


@pytest.fixture
async def client(door_with_model: Door, person: str) -> AsyncIterator[openai.AsyncOpenAI]:
    headers = {"X-Jiyi-User": person}
    async with openai.AsyncOpenAI(
        base_url=f"{door_with_model.url}/v1", api_key="any", max_retries=0, default_headers=headers
    ) as opened:
        yield opened


async def test_an_agent_keeps_its_session_calls_tools_and_is_remembered(
    door_with_model: Door, model: LanguageModelServer, client: openai.AsyncOpenAI, person: str
) -> None:
    session = OpenAIConversationsSession(openai_client=client)
    agent = Agent(name="Helper", model=OpenAIResponsesModel("jiyi", client), tools=[find_room])
    quiet = RunConfig(tracing_disabled=True)
    model.answer("Noted.")
    told = await Runner.run(agent, "The spare key is in the blue drawer.", session=session, run_config=quiet)
    model.call_tool("find_room", '{"number": 7}')
    model.answer("It is on the third floor.")
    asked = await Runner.run(agent, "Where is room 7?", session=session, run_config=quiet)
    assert (told.final_output, asked.final_output) == ("Noted.", "It is on the third floor.")
    assert model.requests[-1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "Room 7 is on the third floor.",
    }
    kinds = [item.get("type") for item in await session.get_items()]
    assert kinds == ["message", "message", "message", "function_call", "function_call_output", "message"]
    popped: Any = await session.pop_item()
    assert popped["content"][0]["text"] == "It is on the third floor."
    assert len(await session.get_items(limit=2)) == 2
    await session.clear_session()
    assert ("user", "The spare key is in the blue drawer.") in door_with_model.said(person)

    model.answer("In the blue drawer.")
    later = await Runner.run(agent, "Where is the spare key?", run_config=quiet)
    assert later.final_output == "In the blue drawer."
    assert "blue drawer" in model.requests[-1]["messages"][0]["content"], "another session, the same memory"
