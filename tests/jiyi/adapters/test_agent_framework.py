"""`JiyiContextProvider` with the framework's own agent and a scripted model."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from jiyi import AsyncClient
from tests.jiyi.adapters.conftest import BOUGHT, REFERRED, example

pytest.importorskip("agent_framework", reason="needs the extra `agent-framework`")

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from deployments.http.doors.stored_text import NOTICE
from jiyi.adapters.agent_framework import JiyiContextProvider


class ScriptedModel(BaseChatClient):
    """Says always the same, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts: list[str] = []

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> ChatResponse:
        said = [message.text for message in messages]
        self.prompts.append("\n".join([str(options.get("instructions") or ""), *said]))
        return ChatResponse(messages=[Message(role="assistant", contents=["好的。"])])


async def test_an_agent_remembers_in_another_session(jiyi: AsyncClient) -> None:
    model = ScriptedModel()
    agent = example("Microsoft Agent Framework")["make_agent"](model, jiyi, "ada")
    first = await agent.run(BOUGHT, session=agent.create_session(session_id="s1"))
    assert first.text == "好的。"
    await agent.run(REFERRED, session=agent.create_session(session_id="s1"))
    told = model.prompts[-1]
    assert BOUGHT not in told.partition(NOTICE)[0]  # the framework has forgotten it
    assert "AI-Box" in told.partition(NOTICE)[2].partition("</stored-memory>")[0]

    kept = [retained.memory async for retained in jiyi.memories.timeline(user_id="ada")]
    assert sorted((memory.session_id, memory.role, memory.text) for memory in kept) == sorted(
        [
            ("s1", "assistant", "好的。"),
            ("s1", "user", BOUGHT),
            ("s1", "assistant", "好的。"),
            ("s1", "user", REFERRED),
        ]
    )


async def test_what_another_person_said_stays_with_them(jiyi: AsyncClient) -> None:
    model = ScriptedModel()
    for user in ("ada", "bob"):
        agent = Agent(model, context_providers=[JiyiContextProvider(jiyi, user_id=user)])
        await agent.run(BOUGHT if user == "ada" else REFERRED, session=agent.create_session(session_id="s1"))
    assert "AI-Box" not in model.prompts[-1]
