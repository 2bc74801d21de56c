"""`JiyiMemoryStore` with the framework's own agent and memory manager, and a scripted model."""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Any

import pytest

from jiyi import AsyncClient
from tests.jiyi.adapters.conftest import ASKED, BOUGHT, example

pytest.importorskip("strands", reason="needs the extra `strands`: make adapters")

from strands import Agent
from strands.memory import AddMessagesContext
from strands.models.model import Model

from jiyi.adapters.strands import JiyiMemoryStore


class ScriptedModel(Model):
    """Says always the same, and keeps what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def update_config(self, **_: Any) -> None:
        """Has nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[dict[str, Any], None]:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterable[Any]:
        self.prompts.append(str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "好的。"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent_of(jiyi: AsyncClient, model: ScriptedModel, session: str) -> Agent:
    """An agent that hands over what was said after each turn."""
    agent: Agent = example("Strands Agents")["make_agent"](model, jiyi, "ada", session)
    return agent


async def test_an_agent_remembers_in_another_session(jiyi: AsyncClient) -> None:
    model = ScriptedModel()
    first = agent_of(jiyi, model, "s1")
    assert "好的" in str(await first.invoke_async(BOUGHT))
    assert first.memory_manager is not None
    await first.memory_manager.flush()
    await agent_of(jiyi, model, "s2").invoke_async(ASKED)
    untold, told = model.prompts
    assert "<memory>" not in untold
    assert BOUGHT in told.partition("<memory>")[2]


async def test_a_note_is_found_with_its_metadata(jiyi: AsyncClient) -> None:
    store = JiyiMemoryStore(jiyi, user_id="ada")
    id_ = await store.add("The spare key is in the blue drawer.", {"room": "study"})
    [found] = await store.search("Where is the spare key?", {"max_search_results": 1})
    assert found.content == "The spare key is in the blue drawer."
    assert found.metadata is not None
    assert (found.metadata["id"], found.metadata["room"]) == (id_, "study")


async def test_messages_that_are_handed_over_again_are_kept_once(jiyi: AsyncClient) -> None:
    store = JiyiMemoryStore(jiyi, user_id="ada")
    messages: Any = [
        {"role": "user", "content": [{"text": "ok"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "x", "input": {}}}]},
        {"role": "user", "content": [{"text": "ok"}]},
    ]
    for _ in range(2):
        await store.add_messages(messages, AddMessagesContext(sequence_numbers=[0, 1, 2]))
    assert len([retained async for retained in jiyi.memories.timeline(user_id="ada")]) == 2
