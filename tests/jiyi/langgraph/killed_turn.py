"""`python -m tests.jiyi.langgraph.killed_turn URL WHERE`: a turn over a service whose process kills itself, or ends it.

WHERE is `call_llm` (while the model is asked), `store_memory` (the service has the turn, its checkpoint is not written
yet) or `nowhere`. What became of the turn is printed as JSON.
"""

import asyncio
import json
import sys
from typing import Any

from jiyi import AsyncClient
from jiyi.langgraph import DialogueGraph, JiyiSaver, MemorySystem
from memory.chat.messages import Acknowledged
from memory.dialogue.memory_system import ConversationTurn
from testing.fakes.chat_model import FakeChatModel
from tests.deployments.conftest import MOVED
from tests.memory.dialogue.dying import answer_unless_killed, die

USER, SESSION, TURN = "ann", "s", "t"
SAID, REPLY = "Hello there", MOVED


class DyingMemory(MemorySystem):
    """Has the service store a turn, and dies."""

    async def store_conversation_turn(self, turn: ConversationTurn) -> Acknowledged:
        await super().store_conversation_turn(turn)
        die()
        raise AssertionError("alive")


async def run(url: str, where: str) -> dict[str, Any]:
    """The turn, or the rest of it."""
    async with AsyncClient(url) as client:
        with JiyiSaver(url, user_id=USER) as saver:
            memory = (DyingMemory if where == "store_memory" else MemorySystem)(client)
            model = FakeChatModel(otherwise=lambda _: answer_unless_killed(where, REPLY))
            graph = DialogueGraph(memory, model=model, checkpointer=saver)
            result = await graph.generate_response(SAID, user_id=USER, session_id=SESSION, turn_id=TURN)
    return {
        "reply": result.ai_response,
        "asked": len(model.requests),
        "messages": len(result.updated_messages),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(sys.argv[1], sys.argv[2])), ensure_ascii=False))  # noqa: T201
