"""003 §2.1, the conversation memory: enhanced query, maximal marginal relevance, both memories at once."""

import asyncio
from datetime import timedelta

import pytest

from memory.dialogue.memory_system import CONTEXT_MEMORIES, diversified, enhanced_query
from memory.language.written import Language
from memory.values.hits import Hit, HitKind, SearchRequest, SearchResult
from memory.values.understanding.readings import Intent
from tests.memory.conftest import NOW
from tests.memory.dialogue.conftest import Dialogue


def hit(text: str, score: float) -> Hit:
    return Hit(kind=HitKind.MEMORY, id=text, text=text, score=score, parts={"keyword": 1.0}, created_at=NOW)


def test_what_says_the_same_gives_way_to_what_says_something_else() -> None:
    same = [hit(f"The key is in the study drawer{'!' * number}", 0.9) for number in range(CONTEXT_MEMORIES)]
    chosen = diversified([*same, hit("Mia waters the plants.", 0.6)])
    assert [found.text for found in chosen[:2]] == [same[0].text, "Mia waters the plants."]
    assert len(chosen) == CONTEXT_MEMORIES


async def test_the_query_has_its_references_resolved_and_the_task_added(dialogue: Dialogue) -> None:
    await dialogue.say("我們公司買了 AI-Box。")
    context = await dialogue.memory.retrieve_context(
        "它放在哪裡？", user_id="ann", session_id="s", persona_ids=["default"], task="搬機房", at=dialogue.world.now
    )
    assert context.query == "AI-Box 放在哪裡？\n搬機房" or context.query == "AI-Box放在哪裡？\n搬機房"
    assert enhanced_query(context.understood, "") == context.understood.resolution.resolved_query
    assert Intent.QUESTION in context.understood.extraction.intents
    assert context.language is Language.TRADITIONAL_CHINESE


async def test_both_memories_are_searched_at_the_same_time(dialogue: Dialogue, monkeypatch: pytest.MonkeyPatch) -> None:
    searching, recalling = asyncio.Event(), asyncio.Event()
    recall = dialogue.personas.recall

    async def search(request: SearchRequest) -> SearchResult:
        searching.set()
        await recalling.wait()
        return SearchResult()

    async def recall_later(*given: str, language: Language) -> object:
        recalling.set()
        await searching.wait()
        return await recall(*given, language=language)

    monkeypatch.setattr(dialogue.memory._retriever, "search", search)
    monkeypatch.setattr(dialogue.personas, "recall", recall_later)
    async with asyncio.timeout(60):
        context = await dialogue.memory.retrieve_context(
            "我換了鑰匙", user_id="ann", session_id="s", persona_ids=["default"], at=dialogue.world.now
        )
    assert [persona["name"] for persona in context.personas] == ["小林"]


async def test_one_user_finds_nothing_of_another(dialogue: Dialogue) -> None:
    await dialogue.say("My spare key is in the Quarzborn drawer.", user_id="bob")
    context = await dialogue.memory.retrieve_context(
        "Where is my spare key?",
        user_id="ann",
        session_id="s",
        persona_ids=["default"],
        at=dialogue.world.now + timedelta(hours=1),
    )
    assert (context.memories, context.result.hits) == ((), ())


async def test_retrieving_stores_nothing(dialogue: Dialogue) -> None:
    await dialogue.memory.retrieve_context(
        "我養了一隻貓。", user_id="ann", session_id="s", persona_ids=["default"], at=dialogue.world.now
    )
    async with dialogue.world.record.reading(user_id="ann") as unit:
        assert await unit.log.count() == 0
