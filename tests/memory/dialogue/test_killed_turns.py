"""A turn whose process is killed goes on in another, and nothing of it is stored twice (003 §5, issue 20)."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory.dialogue.checkpoints import KEPT, RecordSaver
from memory.dialogue.graph import DialogueGraph
from memory.values.errors import StoreUnavailable
from testing.fakes.chat_model import FakeChatModel
from tests.memory.conftest import World
from tests.memory.dialogue.conftest import Dialogue, make_dialogue, replying
from tests.memory.dialogue.killed_turn import REPLY, SAID
from tests.memory.dialogue.test_extensions import Booking, calls

ROOT = Path(__file__).parents[3]


def run(file: Path, where: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.memory.dialogue.killed_turn", str(file), where]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("where", "asked_again"), [("call_llm", 1), ("store_memory", 0)])
def test_a_killed_turn_goes_on_in_a_new_process_and_is_stored_once(
    tmp_path: Path, where: str, asked_again: int
) -> None:
    killed = run(tmp_path / "record.db", where)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ended = run(tmp_path / "record.db", "nowhere")
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    assert result["reply"] == REPLY
    assert result["asked"] == asked_again
    assert result["log"] == [SAID, REPLY]
    assert [(trait, len(sources)) for trait, sources in result["learned"]] == [("台南", 1)]
    assert (result["checkpoints"], result["messages"]) == (0, 2)


async def test_a_turn_that_could_not_be_stored_goes_on_without_asking_the_model_again(
    dialogue: Dialogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = replying("早。")
    graph = dialogue.graph(model, checkpointer=saver_of(dialogue.world))

    async def away(*_: object, **__: object) -> bool:
        raise StoreUnavailable("away", component="record")

    with monkeypatch.context() as patched:
        patched.setattr(dialogue.world.record, "append", away)
        with pytest.raises(StoreUnavailable):
            await dialogue.say("早安", graph=graph, turn_id="t")
    result = await dialogue.say("早安", graph=graph, turn_id="t")
    assert (result.ai_response, len(model.requests)) == ("早。", 1)


class TestWaitingInTheRecord:
    def graph(self, dialogue: Dialogue, booking: Booking) -> DialogueGraph:
        model = FakeChatModel(calls(), "Linz is booked.")
        return dialogue.graph(model, tools=[booking.tool], checkpointer=saver_of(dialogue.world))

    async def test_a_turn_waits_in_the_record_and_is_resumed_by_another_graph(self, world: World) -> None:
        booking = Booking(needs_approval=True)
        dialogue = make_dialogue(world)
        waiting = await dialogue.say("Hello, book Linz", graph=self.graph(dialogue, booking), turn_id="t")
        assert len(waiting.waits_for) == 1
        other = dialogue.graph(replying("Linz is booked."), tools=[booking.tool], checkpointer=saver_of(world))
        result = await other.resume(user_id="ann", session_id="s", turn_id="t", approved=True)
        assert (result.ai_response, len(booking.done)) == ("Linz is booked.", 1)

    async def test_reset_forgets_the_turns_of_this_conversation_and_user_alone(self, dialogue: Dialogue) -> None:
        for user, session in (("ann", "s"), ("ann", "other"), ("bob", "s")):
            graph = self.graph(dialogue, Booking(needs_approval=True))
            await dialogue.say("Hello, book Linz", graph=graph, turn_id="t", user_id=user, session_id=session)
        assert await graph.reset(user_id="ann", session_id="s") == 1
        assert await graph.reset(user_id="ann", session_id="s") == 0
        assert await graph.reset(user_id="bob", session_id="s") == 1

    async def test_a_turn_that_nobody_went_on_with_is_forgotten_in_time(self, dialogue: Dialogue) -> None:
        graph = self.graph(dialogue, Booking(needs_approval=True))
        await dialogue.say("Hello, book Linz", graph=graph, turn_id="t")
        dialogue.world.now += KEPT
        again = await dialogue.say("Hello, book Linz", graph=graph, turn_id="t")
        assert again.ai_response == "Linz is booked."


def saver_of(world: World) -> RecordSaver:
    """Checkpoints in the record of a world."""
    return RecordSaver(world.record, now=lambda: world.now)
