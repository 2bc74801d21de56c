"""`JiyiMemoryBlock` in the framework's `Memory`, with its own agent and mock model."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from jiyi import AsyncClient
from tests.jiyi.adapters.conftest import ASKED, BOUGHT, example

pytest.importorskip("llama_index.core", reason="needs the extra `llama-index`")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory

from deployments.http.doors.stored_text import NOTICE
from jiyi.adapters.llama_index import JiyiMemoryBlock

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]


def scripted(prompts: list[str]) -> MockFunctionCallingLLM:
    """A model that says always the same; what it is asked goes into `prompts`."""

    def reply(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        prompts.append("\n".join(str(message.content) for message in messages))
        return ChatMessage(role=MessageRole.ASSISTANT, content="好的。")

    return MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)


def memory_of(jiyi: AsyncClient, session: str) -> Memory:
    """A memory that keeps little for itself, so that all goes to the block early."""
    memory: Memory = example("LlamaIndex")["make_memory"](jiyi, "ada", session)
    return memory


async def test_an_agent_remembers_in_another_session(jiyi: AsyncClient) -> None:
    prompts: list[str] = []
    agent = FunctionAgent(llm=scripted(prompts), tools=[], system_prompt="Be brief.")
    memory = memory_of(jiyi, "s1")
    assert "好的" in str(await agent.run(BOUGHT, memory=memory))
    await agent.run("謝謝。", memory=memory)
    kept = [retained.memory async for retained in jiyi.memories.timeline(user_id="ada")]
    assert (BOUGHT, "s1") in [(turn.text, turn.session_id) for turn in kept]

    await agent.run(ASKED, memory=memory_of(jiyi, "s2"))
    assert "AI-Box" in prompts[-1].partition(NOTICE)[2].partition("</stored-memory>")[0]


async def test_without_a_question_the_block_tells_what_is_known(jiyi: AsyncClient) -> None:
    block = JiyiMemoryBlock(jiyi, user_id="ada", session_id="s1")
    assert await block.aget() == ""
    tool = ChatMessage(role=MessageRole.TOOL, content="42")
    said = ChatMessage(role=MessageRole.USER, content="I moved to Boston in March 2025.")
    await asyncio.gather(block.aput([said, tool], session_id="s9"))
    assert "Boston" in await block.aget()
    kept = [retained.memory async for retained in jiyi.memories.timeline(user_id="ada")]
    assert [(memory.text, memory.session_id) for memory in kept] == [(said.content, "s9")]
