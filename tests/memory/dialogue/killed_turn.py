"""`python -m tests.memory.dialogue.killed_turn FILE WHERE`: a turn whose process kills itself, or goes on to its end.

WHERE is `call_llm` (while the model is asked), `store_memory` (the turn is in the log, its checkpoint not written yet)
or `nowhere`. The reply is printed as JSON.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from memory.chat.additions import MemoryAdditions
from memory.chat.messages import Acknowledged
from memory.chat.reader import MessageReader
from memory.coreference.resolver import ReadingResolver
from memory.dialogue.checkpoints import RecordSaver
from memory.dialogue.graph import DialogueGraph
from memory.dialogue.memory_system import ConversationTurn, MemorySystem
from memory.dialogue.personas import PersonaMemory
from memory.extraction.extractor import ReadingExtractor
from memory.governance.accesses import AccessTally
from memory.ports.services import LearningService, LearnReport, Retriever
from memory.values.governance.forgetting import ForgetReport, ForgetRequest
from memory.values.hits import SearchRequest, SearchResult
from memory.values.items import ItemCollection
from storage.inmemory.sessions import InMemorySessions
from storage.sqlite.record import SqliteRecord
from testing.fakes.chat_model import FakeChatModel
from testing.fakes.reader import FakeReader, stated
from tests.memory.dialogue.dying import answer_unless_killed, die

SAID = "你住在台南。"
REPLY = "是啊，我很喜歡這裡。"


class NoLearning(LearningService):
    """Learns nothing: what is stored is what is looked at."""

    def notify(self, *, user_id: str) -> None:
        """Nothing."""

    async def learn(self, *, user_id: str) -> LearnReport:
        return LearnReport()

    async def forget(self, request: ForgetRequest) -> ForgetReport | None:
        return None


class NothingFound(Retriever):
    async def search(self, request: SearchRequest) -> SearchResult:
        return SearchResult()


class DyingMemory(MemorySystem):
    """Stores a turn, and dies."""

    async def store_conversation_turn(self, turn: ConversationTurn) -> Acknowledged:
        await super().store_conversation_turn(turn)
        die()
        raise AssertionError("alive")


async def run(file: Path, where: str) -> dict[str, Any]:
    """The turn, or the rest of it."""
    record = SqliteRecord.open(file)
    sessions = InMemorySessions()
    extractor = ReadingExtractor(FakeReader(scripted={SAID: stated(SAID, "user | lives_in | 台南")}), version="fake")
    memory = (DyingMemory if where == "store_memory" else MemorySystem)(
        reader=MessageReader(sessions=sessions, record=record, extractor=extractor, resolver=ReadingResolver()),
        extractor=extractor,
        retriever=NothingFound(),
        additions=MemoryAdditions(record=record, sessions=sessions, learning=NoLearning()),
        personas=PersonaMemory(record=record),
        uses=AccessTally(record),
    )
    model = FakeChatModel(otherwise=lambda _: answer_unless_killed(where, REPLY))
    graph = DialogueGraph(memory, model=model, checkpointer=RecordSaver(record))
    result = await graph.generate_response(SAID, user_id="ann", session_id="s", turn_id="t")
    async with record.reading(user_id="ann") as unit:
        entries = await unit.log.session("s", limit=10)
        left = await unit.items.page(ItemCollection.DIALOGUE, limit=100)
    persona = await memory.personas.load("ann", "default")
    await record.close()
    return {
        "reply": result.ai_response,
        "asked": len(model.requests),
        "log": [entry.content for entry in entries],
        "learned": [[trait.object, list(trait.sources)] for trait in persona.learned],
        "checkpoints": len(left),
        "messages": len(result.updated_messages),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1]), sys.argv[2])), ensure_ascii=False))  # noqa: T201
