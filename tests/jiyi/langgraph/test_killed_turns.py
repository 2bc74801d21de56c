"""A turn of a `DialogueGraph` with `JiyiSaver` goes on in another process, and goes with its session (003 §5)."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jiyi import AsyncClient
from jiyi.langgraph import DialogueGraph, DialogueTool, JiyiSaver, MemorySystem
from memory.ports.models.chat_models import ChatReply, ToolCall, ToolDefinition
from testing.fakes.chat_model import FakeChatModel
from tests.deployments.loopback import on_loopback
from tests.jiyi.langgraph.killed_turn import REPLY, SAID, SESSION, USER

ROOT = Path(__file__).parents[3]


@pytest.fixture
def url() -> Iterator[str]:
    with on_loopback() as address:
        yield address


def run(url: str, where: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.jiyi.langgraph.killed_turn", url, where]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def kept(url: str) -> int:
    """How many checkpoints the user has."""
    with JiyiSaver(url, user_id=USER) as saver:
        return len(list(saver.list(None)))


@pytest.mark.slow
@pytest.mark.parametrize(("where", "asked_again"), [("call_llm", 1), ("store_memory", 0)])
async def test_a_killed_turn_goes_on_in_a_new_process_and_is_stored_once(
    url: str, where: str, asked_again: int
) -> None:
    killed = run(url, where)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert kept(url)
    ended = run(url, "nowhere")
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    assert result == {"reply": REPLY, "asked": asked_again, "messages": 2}
    async with AsyncClient(url) as client:
        session = await client.session(SESSION, user_id=USER)
        persona = await client.personas.get(user_id=USER)
    assert [turn.content for turn in session.turns] == [SAID, REPLY]
    assert [(trait.object, len(trait.sources)) for trait in persona.learned] == [("Boston", 1)]
    assert kept(url) == 0, "a turn that has ended leaves no checkpoint behind"


class TestWaiting:
    """A turn that waits for a person, whose checkpoints the service keeps."""

    @staticmethod
    async def wait(url: str, session_id: str) -> None:
        """Has a turn of the session wait for approval."""

        async def book(_: object, __: object) -> str:
            return "booked"

        definition = ToolDefinition(name="book", description="Books.", parameters={"type": "object"})
        model = FakeChatModel(ChatReply(text="", tool_calls=(ToolCall(id="c", name="book"),)))
        tool = DialogueTool(definition, book, needs_approval=True)
        async with AsyncClient(url) as client:
            with JiyiSaver(url, user_id=USER) as saver:
                graph = DialogueGraph(MemorySystem(client), model=model, tools=[tool], checkpointer=saver)
                result = await graph.generate_response(SAID, user_id=USER, session_id=session_id)
        assert result.waits_for

    async def test_its_checkpoints_are_erased_with_its_session_alone(self, url: str) -> None:
        await self.wait(url, "s")
        before = kept(url)
        await self.wait(url, "other")
        async with AsyncClient(url) as client:
            await client.erasures.erase(user_id=USER, kind="session", session_id="s", wait=True)
        assert kept(url) == before, "those of the other session stay"
        async with AsyncClient(url) as client:
            await client.erasures.erase(user_id=USER, kind="session", session_id="other", wait=True)
        assert kept(url) == 0

    async def test_reset_forgets_the_turns_of_its_conversation_alone(self, url: str) -> None:
        await self.wait(url, "s")
        await self.wait(url, "other")
        async with AsyncClient(url) as client:
            with JiyiSaver(url, user_id=USER) as saver:
                graph = DialogueGraph(MemorySystem(client), checkpointer=saver)
                assert await graph.reset(user_id=USER, session_id="s") == 1
                assert await graph.reset(user_id=USER, session_id="s") == 0
                assert await graph.reset(user_id=USER, session_id="other") == 1
        assert kept(url) == 0
