"""Dialogues over a whole memory on fakes, with a model that says what a test tells it to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from memory.dialogue.graph import DialogueGraph, DialogueResult
from memory.dialogue.memory_system import MemorySystem
from memory.dialogue.personas import PersonaMemory
from memory.language.keywords import KeywordAnalyzer
from memory.ports.jobs import MaintenanceService
from memory.ports.models.chat_models import ChatModel, ChatRequest
from memory.ports.models.language import FloatMatrix, TextKind
from memory.retrieval.validity import ValidityRetriever
from memory.values.hits import CosineBounds
from memory.values.personas import PersonaProfile
from testing.fakes.chat_model import FakeChatModel
from tests.memory.conftest import World

LIN = PersonaProfile(name="小林", facts=("小林是台南的咖啡師。",), style="playful", state={"mood": "cheerful"})
FU = PersonaProfile(persona_id="fu", name="阿福", facts=("阿福是園丁。",))


async def _bounds() -> CosineBounds:
    return CosineBounds(chinese=0.99, other=0.99)


@dataclass
class Dialogue:
    """A memory system, and graphs over it."""

    world: World
    memory: MemorySystem
    personas: PersonaMemory

    def graph(self, model: ChatModel | None = None, **options: Any) -> DialogueGraph:
        """A graph at the time of the world."""
        return DialogueGraph(self.memory, model=model, now=lambda: self.world.now, **options)

    async def say(self, text: str, *, graph: DialogueGraph | None = None, **options: Any) -> DialogueResult:
        """A turn of ann's, learned before it returns."""
        result = await (graph or self.graph()).generate_response(
            text, **{"user_id": "ann", "session_id": "s"} | options
        )
        await self.world.learn()
        return result


def make_dialogue(
    world: World, *, given: tuple[PersonaProfile, ...] = (LIN, FU), jobs: MaintenanceService | None = None
) -> Dialogue:
    async def embed(texts: Sequence[str], kind: TextKind) -> FloatMatrix:
        return await world.encoder.encode(texts, kind=kind)

    personas = PersonaMemory(record=world.record, given=given, embed=embed, now=lambda: world.now)
    memory = MemorySystem(
        reader=world.reader,
        extractor=world.reader._extractor,
        retriever=ValidityRetriever(world.retriever, record=world.record, analyzer=KeywordAnalyzer()),
        additions=world.additions,
        personas=personas,
        uses=world.tally,
        jobs=jobs,
        cosines=_bounds,
    )
    return Dialogue(world, memory, personas)


@pytest.fixture
def dialogue(world: World) -> Dialogue:
    return make_dialogue(world)


def replying(*texts: str, otherwise: Callable[[ChatRequest], str] | None = None) -> FakeChatModel:
    """A model that replies so."""
    return FakeChatModel(*texts, otherwise=otherwise)


def system_prompt(model: FakeChatModel, at: int = -1) -> str:
    """The instructions of a request."""
    return model.requests[at].messages[0].content


State = Mapping[str, Any]
