"""`JiyiMemoryService` with the framework's own runner, agent and preload tool, and a scripted model."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from jiyi import AsyncClient
from tests.jiyi.adapters.conftest import ASKED, BOUGHT, example

pytest.importorskip("google.adk", reason="needs the extra `google-adk`: make adapters")

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class ScriptedModel(BaseLlm):
    """Says always the same, and keeps what it was asked."""

    model: str = "scripted"
    prompts: list[str] = []

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [part.text for content in llm_request.contents for part in content.parts or () if part.text]
        self.prompts.append("\n".join(said))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="好的。")]))


class Chat:
    """An app of the framework whose memory is ours."""

    def __init__(self, jiyi: AsyncClient) -> None:
        self.model = ScriptedModel()
        self._runner = example("Google ADK")["make_runner"](self.model, jiyi)
        self.memory, self.sessions = self._runner.memory_service, self._runner.session_service

    async def say(self, text: str, *, session: str) -> Any:
        """Sends a message of a new session; returns the session."""
        of = {"app_name": "shop", "user_id": "ada", "session_id": session}
        await self.sessions.create_session(**of)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in self._runner.run_async(user_id="ada", session_id=session, new_message=message):
            pass
        return await self.sessions.get_session(**of)


async def test_an_agent_remembers_in_another_session(jiyi: AsyncClient) -> None:
    chat = Chat(jiyi)
    session = await chat.say(BOUGHT, session="s1")
    await chat.memory.add_session_to_memory(session)
    await chat.memory.add_session_to_memory(session)
    await chat.say(ASKED, session="s2")
    untold, told = chat.model.prompts
    assert "PAST_CONVERSATIONS" not in untold
    assert BOUGHT in told
    kept = [retained.memory async for retained in jiyi.memories.timeline(user_id="ada")]
    assert sorted((memory.role, memory.speaker, memory.text) for memory in kept) == [
        ("assistant", "clerk", "好的。"),
        ("user", None, BOUGHT),
    ]


async def test_an_app_finds_only_its_own_and_can_delete_it(jiyi: AsyncClient) -> None:
    chat = Chat(jiyi)
    await chat.memory.add_session_to_memory(await chat.say(BOUGHT, session="s1"))
    of = {"user_id": "ada", "query": "AI-Box"}
    assert (await chat.memory.search_memory(app_name="desk", **of)).memories == []
    found = (await chat.memory.search_memory(app_name="shop", **of)).memories
    [bought] = [memory for memory in found if memory.author == "user"]
    await chat.memory.delete_memory(app_name="shop", user_id="ada", memory_id=bought.id)
    left = (await chat.memory.search_memory(app_name="shop", **of)).memories
    assert bought.id not in [memory.id for memory in left]
    with pytest.raises(ValueError, match="memory_id"):
        await chat.memory.delete_memory(app_name="shop", user_id="ada")
